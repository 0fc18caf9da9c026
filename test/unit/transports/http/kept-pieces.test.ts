import t from 'tap';
import { KeptPieces } from '../../../../src/transports/http/body.ts';

/** Adds a body in chunks of the given size. Returns its pieces, and how many bytes were allocated for them. */
function kept(body: Buffer, chunkBytes: number, known = true) {
  const pieces = new KeptPieces();
  let allocated = 0;
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = Buffer.from(body.subarray(at, at + chunkBytes));
    const toCome = (known ? body.length : 6_000_000) - at - chunk.length;
    allocated += pieces.add(chunk, toCome);
    chunk.fill(0);
  }
  return { pieces: pieces.take(), allocated };
}

const BODY = Buffer.from(Uint8Array.from({ length: 5_000_000 }, (_, i) => i % 251));

for (const chunkBytes of [16, 1_000, 65_536, 5_000_000]) {
  for (const known of [true, false]) {
    const length = known ? 'a known length' : 'an unknown length';
    t.test(`a body of ${length} in chunks of ${chunkBytes} bytes becomes a few pieces`, async t => {
      const { pieces, allocated } = kept(BODY, chunkBytes, known);
      t.ok(Buffer.concat(pieces).equals(BODY));
      t.ok(pieces.length <= 20, `${pieces.length} pieces`);
      for (const { buffer, length } of pieces) t.equal(buffer.byteLength, length, 'memory of its own');
      const max = known ? BODY.length : BODY.length + 512 * 1024;
      t.ok(allocated >= BODY.length && allocated <= max, `${allocated} bytes`);
    });
  }
}

t.test('a body in one chunk is one piece without room for more', async t => {
  const { pieces, allocated } = kept(BODY.subarray(0, 100), 100, false);
  t.equal(pieces.length, 1);
  t.equal(allocated, 100);
  t.equal(pieces[0].buffer.byteLength, 100);
});

t.test('memory is allocated as the body arrives', async t => {
  const pieces = new KeptPieces();
  let allocated = 0;
  for (let at = 0; at < BODY.length; at += 10_000) {
    allocated += pieces.add(BODY.subarray(at, at + 10_000), BODY.length - at - 10_000);
    const received = at + 10_000;
    t.ok(allocated <= 2 * received + 16 * 1024, `${allocated} bytes for ${received}`);
  }
});
