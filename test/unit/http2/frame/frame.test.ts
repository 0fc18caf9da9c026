import t from 'tap';
import {
  FLAG,
  FRAME,
  frameLength,
  readUint31,
  readUint32,
  stripPadding,
  writeFrameHeader,
  writeUint32,
} from '../../../../src/http2/frame/frame.ts';
import { octets, placed, written } from './octets.ts';

t.test('a frame header is length, type, flags and stream (RFC 9113, 4.1)', async t => {
  const header = octets(
    [0x01, 0x02, 0x03], // length 66,051
    [0x09], //             type CONTINUATION
    [0x04], //             flags END_HEADERS
    [0x7f, 0xff, 0xff, 0xff], // the highest stream
  );
  t.same(
    written(to => writeFrameHeader(to, 66_051, FRAME.continuation, FLAG.endHeaders, 0x7fff_ffff)),
    header,
  );
  t.equal(frameLength(header, 0), 66_051);
  t.equal(readUint31(header, 5), 0x7fff_ffff);
});

t.test('the reserved bit before a stream is ignored (RFC 9113, 4.1)', async t => {
  const header = octets(
    [0x00, 0x00, 0x00], //      length 0
    [0x00], //                  type DATA
    [0x00], //                  no flags
    [0x80, 0x00, 0x00, 0x05], // reserved bit, stream 5
  );
  t.equal(readUint31(header, 5), 5);
});

t.test('frame types have the numbers of RFC 9113, 6', async t => {
  t.same(FRAME, {
    data: 0,
    headers: 1,
    priority: 2,
    rstStream: 3,
    settings: 4,
    pushPromise: 5,
    ping: 6,
    goAway: 7,
    windowUpdate: 8,
    continuation: 9,
  });
});

t.test('flags have the bits of RFC 9113, 6', async t => {
  t.same(FLAG, { endStream: 0x01, ack: 0x01, endHeaders: 0x04, padded: 0x08, priority: 0x20 });
});

t.test('32 bits are read and written most significant octet first', async t => {
  for (const value of [0, 1, 0x0102_0304, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
    const bytes = written(to => writeUint32(to, value));
    t.equal(bytes.length, 4);
    t.equal(readUint32(bytes, 0), value);
    t.equal(readUint31(bytes, 0), value % 0x8000_0000, 'and 31 of them without the first');
  }
  t.same(
    written(to => writeUint32(to, 0x0102_0304)),
    octets([1, 2, 3, 4]),
  );
});

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
