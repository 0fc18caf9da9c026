import t from 'tap';
import { checkPing, writePing } from '../../../../src/http2/frame/ping.ts';
import { octets, placed, written } from './octets.ts';

const OPAQUE = octets([0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xff]);

t.test('PING carries 8 octets of the sender (RFC 9113, 6.7)', async t => {
  const { bytes, range } = placed(OPAQUE);
  t.same(
    written(to => writePing(to, 'request', bytes, range.start)),
    octets(
      [0x00, 0x00, 0x08], //       length 8
      [0x06], //                   type PING
      [0x00], //                   no flags
      [0x00, 0x00, 0x00, 0x00], // stream 0
      [...OPAQUE],
    ),
  );
  t.equal(checkPing(range.start, range.end), null);
});

t.test('the answer carries the same octets and ACK (RFC 9113, 6.7)', async t => {
  t.same(
    written(to => writePing(to, 'ack', OPAQUE, 0)),
    octets(
      [0x00, 0x00, 0x08], //       length 8
      [0x06], //                   type PING
      [0x01], //                   flags ACK
      [0x00, 0x00, 0x00, 0x00], // stream 0
      [...OPAQUE],
    ),
  );
});

t.test('PING of another length than 8 is a FRAME_SIZE_ERROR (RFC 9113, 6.7)', async t => {
  for (const length of [0, 7, 9])
    t.match(checkPing(9, 9 + length), { scope: 'connection', code: 6 }, `${length} octets`);
});
