import t from 'tap';
import { checkPriority } from '../../../../src/http2/frame/priority.ts';
import { octets, placed } from './octets.ts';

/** What is wrong with a PRIORITY payload on stream 3. */
function fault(payload: Uint8Array) {
  const { bytes, range } = placed(payload);
  return checkPriority(bytes, range.start, range.end, 3);
}

t.test('PRIORITY of 5 octets is accepted (RFC 9113, 6.3)', async t => {
  const payload = octets(
    [0x80, 0x00, 0x00, 0x01], // exclusive, depends on stream 1
    [0x00], //                   weight 1
  );
  t.equal(fault(payload), null);
});

t.test('PRIORITY of another length is a FRAME_SIZE_ERROR of the stream (RFC 9113, 6.3)', async t => {
  for (const length of [0, 4, 6])
    t.match(fault(new Uint8Array(length)), { scope: 'stream', code: 6 }, `${length} octets`);
});

t.test('a stream that depends on itself is a PROTOCOL_ERROR of the stream (RFC 7540, 5.3.1)', async t => {
  const payload = octets(
    [0x80, 0x00, 0x00, 0x03], // exclusive, depends on stream 3
    [0x0f], //                   weight 16
  );
  t.match(fault(payload), { scope: 'stream', code: 1 });
});
