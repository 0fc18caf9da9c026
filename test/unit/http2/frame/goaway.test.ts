import t from 'tap';
import { ERROR } from '../../../../src/http2/error-code.ts';
import { checkGoAway, LAST_STREAM_OPEN, writeGoAway } from '../../../../src/http2/frame/goaway.ts';
import { octets, written } from './octets.ts';

t.test('GOAWAY names the last stream, the code and the reason (RFC 9113, 6.8)', async t => {
  t.same(
    written(to => writeGoAway(to, 0x0102_0305, ERROR.protocolError, 'why')),
    octets(
      [0x00, 0x00, 0x0b], //       length 11
      [0x07], //                   type GOAWAY
      [0x00], //                   no flags
      [0x00, 0x00, 0x00, 0x00], // stream 0
      [0x01, 0x02, 0x03, 0x05], // last stream 16,909,061
      [0x00, 0x00, 0x00, 0x01], // PROTOCOL_ERROR
      [0x77, 0x68, 0x79], //       "why"
    ),
  );
});

t.test('the GOAWAY that leaves the last stream open names the highest one (RFC 9113, 6.8)', async t => {
  const frame = written(to => writeGoAway(to, LAST_STREAM_OPEN, ERROR.noError, ''));
  t.same(frame.subarray(9, 13), octets([0x7f, 0xff, 0xff, 0xff]));
});

t.test('a long reason is cut, also where it takes more octets than characters', async t => {
  const frame = written(to => writeGoAway(to, 0, ERROR.noError, 'ü'.repeat(500)));
  t.equal(frame.length, 9 + 8 + 400);
  t.equal((frame[1] << 8) | frame[2], 408, 'the length says so');
});

t.test('GOAWAY of 8 octets and more is accepted (RFC 9113, 6.8)', async t => {
  t.equal(checkGoAway(9, 17), null);
  t.equal(checkGoAway(9, 500), null);
});

t.test('GOAWAY shorter than its two fields is a FRAME_SIZE_ERROR (RFC 9113, 4.2)', async t => {
  for (const length of [0, 4, 7])
    t.match(checkGoAway(9, 9 + length), { scope: 'connection', code: 6 }, `${length} octets`);
});
