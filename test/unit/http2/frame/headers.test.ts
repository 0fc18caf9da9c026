import t from 'tap';
import { FLAG } from '../../../../src/http2/frame/frame.ts';
import { checkPriority, readHeaders, writeHeaders } from '../../../../src/http2/frame/headers.ts';
import { octets, placed, written } from './octets.ts';

/** The fragment in a HEADERS payload on stream 3, and the fault that came with it. */
function read(payload: Uint8Array, flags: number) {
  const { bytes, range } = placed(payload);
  const fault = readHeaders(bytes, flags, 3, range);
  return { fault, fragment: bytes.slice(range.start, range.end) };
}

t.test('HEADERS without flags is all fragment (RFC 9113, 6.2)', async t => {
  t.same(read(octets([0x82, 0x86]), FLAG.endHeaders), { fault: null, fragment: octets([0x82, 0x86]) });
  t.same(read(octets(), FLAG.endHeaders), { fault: null, fragment: octets() });
});

t.test('padding is taken off (RFC 9113, 6.2)', async t => {
  const payload = octets(
    [0x02], //       pad length
    [0x82, 0x86], // fragment
    [0x00, 0x00], // padding
  );
  t.same(read(payload, FLAG.padded), { fault: null, fragment: octets([0x82, 0x86]) });
});

t.test('priority is read past (RFC 9113, 6.2)', async t => {
  const payload = octets(
    [0x80, 0x00, 0x00, 0x01], // exclusive, depends on stream 1
    [0xff], //                   weight 256
    [0x82], //                   fragment
  );
  t.same(read(payload, FLAG.priority), { fault: null, fragment: octets([0x82]) });
});

t.test('the pad length stands before the priority (RFC 9113, 6.2)', async t => {
  const payload = octets(
    [0x01], //                   pad length
    [0x00, 0x00, 0x00, 0x00], // depends on nothing
    [0x0f], //                   weight 16
    [0x82, 0x86], //             fragment
    [0x00], //                   padding
  );
  t.same(read(payload, FLAG.padded | FLAG.priority), { fault: null, fragment: octets([0x82, 0x86]) });
});

t.test('priority that is cut short is a FRAME_SIZE_ERROR (RFC 9113, 4.2)', async t => {
  t.match(read(octets([0x00, 0x00, 0x00, 0x01]), FLAG.priority).fault, { scope: 'connection', code: 6 });
  t.match(
    read(octets([0x00], [0x00, 0x00, 0x00, 0x01]), FLAG.padded | FLAG.priority).fault,
    { scope: 'connection', code: 6 },
    'also behind a pad length',
  );
});

t.test('padding longer than the room for the fragment is a PROTOCOL_ERROR (RFC 9113, 6.2)', async t => {
  t.match(read(octets([0x02], [0x82]), FLAG.padded).fault, { scope: 'connection', code: 1 });
  t.match(
    read(octets([0x02], [0x00, 0x00, 0x00, 0x01, 0x0f], [0x82]), FLAG.padded | FLAG.priority).fault,
    { scope: 'connection', code: 1 },
    'the priority is not such room',
  );
});

t.test('a stream that depends on itself is a PROTOCOL_ERROR of the stream (RFC 7540, 5.3.1)', async t => {
  const payload = octets(
    [0x00, 0x00, 0x00, 0x03], // depends on stream 3
    [0x0f], //                   weight 16
    [0x82], //                   fragment
  );
  const { fault, fragment } = read(payload, FLAG.priority);
  t.match(fault, { scope: 'stream', code: 1 });
  t.same(fragment, octets([0x82]), 'the fragment is there, as the block has to be decoded');
});

const BLOCK = octets([0x88, 0x0f, 0x10, 0x01, 0x61]);

t.test('a fragment may be empty, also behind priority (RFC 9113, 6.2)', async t => {
  t.same(read(octets([0x00, 0x00, 0x00, 0x01], [0x0f]), FLAG.priority), { fault: null, fragment: octets() });
});

t.test('a block that fits is one HEADERS frame with END_HEADERS (RFC 9113, 6.2)', async t => {
  t.same(
    written(to => writeHeaders(to, 5, BLOCK, { endStream: false, maxFrameBytes: 5 })),
    octets(
      [0x00, 0x00, 0x05], //       length 5
      [0x01], //                   type HEADERS
      [0x04], //                   flags END_HEADERS
      [0x00, 0x00, 0x00, 0x05], // stream 5
      [...BLOCK],
    ),
  );
});

t.test('END_STREAM is added to it when nothing follows (RFC 9113, 6.2)', async t => {
  const frame = written(to => writeHeaders(to, 5, BLOCK, { endStream: true, maxFrameBytes: 5 }));
  t.equal(frame[4], 0x05, 'END_STREAM and END_HEADERS');
});

t.test(
  'a longer block goes on in CONTINUATION frames, the last with END_HEADERS (RFC 9113, 6.10)',
  async t => {
    t.same(
      written(to => writeHeaders(to, 5, BLOCK, { endStream: true, maxFrameBytes: 2 })),
      octets(
        [0x00, 0x00, 0x02], //       length 2
        [0x01], //                   type HEADERS
        [0x01], //                   flags END_STREAM: it belongs to HEADERS, wherever the block ends
        [0x00, 0x00, 0x00, 0x05], // stream 5
        [0x88, 0x0f],
        [0x00, 0x00, 0x02], //       length 2
        [0x09], //                   type CONTINUATION
        [0x00], //                   no flags
        [0x00, 0x00, 0x00, 0x05], // stream 5
        [0x10, 0x01],
        [0x00, 0x00, 0x01], //       length 1
        [0x09], //                   type CONTINUATION
        [0x04], //                   flags END_HEADERS
        [0x00, 0x00, 0x00, 0x05], // stream 5
        [0x61],
      ),
    );
  },
);

t.test('a block that fills its frames has no empty one behind them', async t => {
  const frames = written(to =>
    writeHeaders(to, 5, BLOCK.subarray(0, 4), { endStream: true, maxFrameBytes: 2 }),
  );
  t.equal(frames.length, 2 * (9 + 2));
  t.same([frames[4], frames[9 + 2 + 4]], [0x01, 0x04], 'END_HEADERS on the last');
});

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
