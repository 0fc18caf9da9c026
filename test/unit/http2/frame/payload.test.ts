import t from 'tap';
import { FLAG } from '../../../../src/http2/frame/frame.ts';
import { stripPadding } from '../../../../src/http2/frame/payload.ts';
import { octets, placed } from './octets.ts';

/** The content of a DATA payload, or the fault that it is. */
function content(payload: Uint8Array, flags: number, fieldBytes = 0) {
  const { bytes, range } = placed(payload);
  const fault = stripPadding(bytes, flags, range, fieldBytes);
  return fault ?? bytes.subarray(range.start, range.end);
}

t.test('DATA without PADDED is all content (RFC 9113, 6.1)', async t => {
  t.same(content(octets([0x02, 0x61, 0x62]), 0), octets([0x02, 0x61, 0x62]));
  t.same(content(octets(), 0), octets());
});

t.test('padding and its length are taken off (RFC 9113, 6.1)', async t => {
  const payload = octets(
    [0x03], //             pad length
    [0x61, 0x62], //       content
    [0x00, 0x00, 0x00], // padding
  );
  t.same(content(payload, FLAG.padded), octets([0x61, 0x62]));
});

t.test('padding may be none, or all there is (RFC 9113, 6.1)', async t => {
  t.same(content(octets([0x00], [0x61]), FLAG.padded), octets([0x61]), 'none');
  t.same(content(octets([0x02], [0x00, 0x00]), FLAG.padded), octets(), 'all');
  t.same(content(octets([0x00]), FLAG.padded), octets(), 'none, and no content');
});

t.test('padding of any value is accepted: checking it is left to the receiver (RFC 9113, 6.1)', async t => {
  t.same(content(octets([0x01], [0x61], [0xff]), FLAG.padded), octets([0x61]));
});

t.test('PADDED without a pad length is a FRAME_SIZE_ERROR (RFC 9113, 4.2)', async t => {
  t.match(content(octets(), FLAG.padded), { scope: 'connection', code: 6, message: /RFC 9113, 4\.2/ });
});

t.test('padding as long as the payload or longer is a PROTOCOL_ERROR (RFC 9113, 6.1)', async t => {
  for (const payload of [
    octets([0x01]), //             as long as the payload
    octets([0x03], [0x61, 0x00]), // as long as the payload
    octets([0xff], [0x61, 0x00]), // longer
  ])
    t.match(content(payload, FLAG.padded), { scope: 'connection', code: 1, message: /RFC 9113, 6\.1/ });
});

t.test('fields behind the pad length are no place for padding (RFC 9113, 6.2)', async t => {
  const fields = [0x00, 0x00, 0x00, 0x03, 0x0f];
  t.same(
    content(octets([0x01], fields, [0x82], [0x00]), FLAG.padded, 5),
    octets(fields, [0x82]),
    'padding behind them',
  );
  t.match(
    content(octets([0x02], fields, [0x82]), FLAG.padded, 5),
    { scope: 'connection', code: 1 },
    'padding over them is a PROTOCOL_ERROR',
  );
  t.match(
    content(octets([0x00], fields.slice(1)), FLAG.padded, 5),
    { scope: 'connection', code: 6 },
    'a payload without room for them is a FRAME_SIZE_ERROR',
  );
});
