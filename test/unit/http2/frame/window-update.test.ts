import t from 'tap';
import { checkWindowUpdate, writeWindowUpdate } from '../../../../src/http2/frame/window-update.ts';
import { octets, placed, written } from './octets.ts';

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
