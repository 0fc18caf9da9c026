import t from 'tap';
import { FrameReader } from '../../../bench/support/frame-reader.ts';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { writePing, writeSettingsAck } from '../../../src/http2/frame/control.ts';
import { FRAME } from '../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../src/http2/frame/headers.ts';

const PAYLOAD = Buffer.from('12345678');

/** A PING, an empty SETTINGS and a HEADERS frame on stream 7. */
function threeFrames(): Uint8Array {
  const out = new ByteWriter();
  writePing(out, 'request', PAYLOAD, 0);
  writeSettingsAck(out);
  writeHeaders(out, 7, PAYLOAD, { endStream: true, maxFrameBytes: 16_384 });
  return out.take();
}

const EXPECTED = [
  { type: FRAME.ping, flags: 0, stream: 0, payload: '12345678' },
  { type: FRAME.settings, flags: 1, stream: 0, payload: '' },
  { type: FRAME.headers, flags: 5, stream: 7, payload: '12345678' },
];

/** The frames that a reader finds in the pieces. */
function read(pieces: readonly Uint8Array[]): unknown[] {
  const reader = new FrameReader();
  const frames: unknown[] = [];
  for (const piece of pieces) {
    reader.read(piece, ({ type, flags, stream, bytes, start, end }) => {
      const payload = Buffer.from(bytes.subarray(start, end)).toString();
      frames.push({ type, flags, stream, payload });
    });
  }
  return frames;
}

t.test('frames that come together are found one after the other', async t => {
  t.same(read([threeFrames()]), EXPECTED);
});

t.test('frames are found wherever their bytes are cut', async t => {
  const bytes = threeFrames();
  for (let cut = 1; cut < bytes.length; cut++) {
    t.same(read([bytes.subarray(0, cut), bytes.subarray(cut)]), EXPECTED, `cut at ${cut}`);
  }
  t.same(read([...bytes].map(octet => Uint8Array.of(octet))), EXPECTED, 'byte by byte');
});

t.test('an incomplete frame is not reported', async t => {
  t.same(read([threeFrames().subarray(0, 16)]), []);
});
