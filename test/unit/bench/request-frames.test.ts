import t from 'tap';
import { FrameReader } from '../../../bench/support/frame-reader.ts';
import { CALL_NUMBERS, CallNumbers } from '../../../bench/support/grpc-load/call-numbers.ts';
import { RequestFrames } from '../../../bench/support/grpc-load/request-frames.ts';
import { FRAME } from '../../../src/http2/frame/frame.ts';
import { HpackDecoder } from '../../../src/http2/hpack/decoder.ts';

const MESSAGE = 'user ...... of tenant ......';
const FRAMES = new RequestFrames({
  path: '/s/Method',
  message: Buffer.from(MESSAGE).toString('base64'),
  counted: [
    { at: 5, below: 100_000 },
    { at: 22, below: 1_000 },
  ],
});

/** The frames of these calls, one after the other, as a server reads them. */
function calls(...numbers: readonly number[]) {
  const out = Buffer.alloc(10_000);
  let at = 0;
  numbers.forEach((number, i) => {
    const before = at;
    at = FRAMES.write(out, at, 1 + 2 * i, number);
    if (at - before !== FRAMES.sizeOn(1 + 2 * i)) throw new Error('sizeOn is wrong');
  });
  const decoder = new HpackDecoder({ maxListBytes: 65_536, maxFields: 100 });
  const frames: { type: number; flags: number; stream: number; size: number; content: unknown }[] = [];
  new FrameReader().read(out.subarray(0, at), ({ type, flags, stream, bytes, start, end }) => {
    let content: unknown = Buffer.from(bytes.subarray(start, end)).toString('latin1');
    if (type === FRAME.headers) {
      const { names, values } = decoder.decode(bytes, start, end);
      content = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    }
    frames.push({ type, flags, stream, size: end - start, content });
  });
  return frames;
}

t.test('a call is HEADERS and DATA that ends the stream, with its digits filled in', async t => {
  const [headers, data] = calls(12_345);
  t.match(headers, {
    type: FRAME.headers,
    flags: 4,
    stream: 1,
    content: { ':method': 'POST', ':path': '/s/Method', 'content-type': 'application/grpc', te: 'trailers' },
  });
  t.match(data, { type: FRAME.data, flags: 1, stream: 1, size: FRAMES.dataBytes });
  t.equal(data.content, `\0\0\0\0${String.fromCharCode(MESSAGE.length)}user 012345 of tenant 000345`);
});

t.test('the calls of a connection have the same fields, and the later ones in fewer bytes', async t => {
  const [first, , second, , third, data] = calls(0, 1, 99_999);
  t.same(second.content, first.content);
  t.same(third.content, first.content);
  t.ok(second.size < first.size / 4);
  t.equal(third.stream, 5);
  t.match(String(data.content), /user 099999 of tenant 000999$/);
});

t.test('every number comes once before one comes again, and they are the same in every run', async t => {
  const numbers = new CallNumbers();
  const first = Array.from({ length: CALL_NUMBERS }, () => numbers.next());
  t.equal(new Set(first).size, CALL_NUMBERS);
  t.ok(first.every(number => number >= 0 && number < CALL_NUMBERS));
  t.equal(numbers.next(), first[0]);
  t.equal(new CallNumbers().next(), first[0]);
});
