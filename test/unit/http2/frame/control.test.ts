import t from 'tap';
import { ERROR } from '../../../../src/http2/faults.ts';
import {
  checkGoAway,
  checkPing,
  checkRstStream,
  checkWindowUpdate,
  LAST_STREAM_OPEN,
  writeGoAway,
  writePing,
  writeRstStream,
  writeWindowUpdate,
} from '../../../../src/http2/frame/control.ts';
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

t.test('RST_STREAM carries an error code (RFC 9113, 6.4)', async t => {
  t.same(
    written(to => writeRstStream(to, 0x0102_0305, ERROR.enhanceYourCalm)),
    octets(
      [0x00, 0x00, 0x04], //       length 4
      [0x03], //                   type RST_STREAM
      [0x00], //                   no flags
      [0x01, 0x02, 0x03, 0x05], // stream 16,909,061
      [0x00, 0x00, 0x00, 0x0b], // ENHANCE_YOUR_CALM
    ),
  );
  t.equal(checkRstStream(9, 13), null);
});

t.test('RST_STREAM of another length than 4 is a FRAME_SIZE_ERROR (RFC 9113, 6.4)', async t => {
  for (const length of [0, 3, 5])
    t.match(checkRstStream(9, 9 + length), { scope: 'connection', code: 6 }, `${length} octets`);
});

t.test('error codes have the numbers of RFC 9113, 7', async t => {
  t.same(Object.values(ERROR), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
});

/** What is wrong with a WINDOW_UPDATE payload. */
function fault(payload: Uint8Array, stream: number) {
  const { bytes, range } = placed(payload);
  return checkWindowUpdate(bytes, range.start, range.end, stream);
}

t.test('WINDOW_UPDATE carries an increment (RFC 9113, 6.9)', async t => {
  const frame = octets(
    [0x00, 0x00, 0x04], //       length 4
    [0x08], //                   type WINDOW_UPDATE
    [0x00], //                   no flags
    [0x00, 0x00, 0x00, 0x03], // stream 3
    [0x7f, 0xff, 0xff, 0xff], // 2^31 - 1
  );
  t.same(
    written(to => writeWindowUpdate(to, 3, 0x7fff_ffff)),
    frame,
  );
  t.equal(fault(frame.subarray(9), 3), null);
  t.equal(fault(frame.subarray(9), 0), null);
});

t.test(
  'WINDOW_UPDATE of another length than 4 is a FRAME_SIZE_ERROR of the connection (RFC 9113, 6.9)',
  async t => {
    for (const length of [0, 3, 5])
      for (const stream of [0, 3])
        t.match(
          fault(new Uint8Array(length).fill(1), stream),
          { scope: 'connection', code: 6 },
          `${length} octets`,
        );
  },
);

t.test('an increment of 0 is a PROTOCOL_ERROR of what it was for (RFC 9113, 6.9)', async t => {
  t.match(fault(octets([0x00, 0x00, 0x00, 0x00]), 0), { scope: 'connection', code: 1 });
  t.match(fault(octets([0x00, 0x00, 0x00, 0x00]), 3), { scope: 'stream', code: 1 });
  t.match(
    fault(octets([0x80, 0x00, 0x00, 0x00]), 3),
    { scope: 'stream', code: 1 },
    'the reserved bit does not count',
  );
});
