import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { maxBlockBytes, maxContinuations } from '../../../../src/http2/connection/header-sections.ts';
import { DEFAULT_LIMITS } from '../../../../src/http2/connection/limits.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import {
  END_BOTH,
  END_HEADERS,
  END_STREAM,
  headersWithPriority,
  paddedHeaders,
} from '../../../support/http2-frames.ts';
import { Http2Peer, REQUEST, requestBlock } from '../../../support/http2-peer.ts';
import {
  continuation,
  data,
  type Fields,
  fieldBlock,
  frame,
  headers,
  ping,
  rstStream,
  settings,
} from '../../../support/wire-frames.ts';

const LIST_BYTES = DEFAULT_LIMITS.maxHeaderListBytes;
const BLOCK = requestBlock();

t.test('a section may come in any number of parts, also empty ones (RFC 9113, 6.10)', async t => {
  const peer = Http2Peer.open();
  const parts = [
    headers(1, BLOCK.subarray(0, 0), END_STREAM),
    continuation(1, BLOCK.subarray(0, 1)),
    continuation(1, BLOCK.subarray(1, 1)),
    continuation(1, BLOCK.subarray(1), END_HEADERS),
  ];
  t.strictSame(peer.send(...parts), []);
  t.strictSame(peer.handler.take(), ['request 1 /s/m end'], 'END_STREAM stands on HEADERS, and holds');
});

t.test('padding belongs to HEADERS alone, wherever the section ends (RFC 9113, 6.2)', async t => {
  const peer = Http2Peer.open();
  peer.send(paddedHeaders(1, BLOCK.subarray(0, 9), 100, 0), continuation(1, BLOCK.subarray(9), END_HEADERS));
  t.strictSame(peer.handler.take(), ['request 1 /s/m']);
});

t.test('flags that CONTINUATION does not have are ignored (RFC 9113, 4.1)', async t => {
  const peer = Http2Peer.open();
  peer.send(headers(1, BLOCK.subarray(0, 9), 0), continuation(1, BLOCK.subarray(9), 0xff));
  t.strictSame(peer.handler.take(), ['request 1 /s/m'], 'END_STREAM is one of them');
});

t.test('nothing may come between the parts of a section (RFC 9113, 6.10)', async t => {
  const others: Record<string, Buffer> = {
    DATA: data(1),
    'HEADERS of the same stream': headers(1, BLOCK),
    'HEADERS of another stream': headers(3, BLOCK),
    RST_STREAM: rstStream(1),
    SETTINGS: settings(),
    PING: ping(),
    'an unknown frame': frame(0x42, 0, 1),
    'CONTINUATION of another stream': continuation(3, BLOCK, END_HEADERS),
    'CONTINUATION of stream 0': continuation(0, BLOCK, END_HEADERS),
  };
  for (const [name, other] of Object.entries(others)) {
    const peer = Http2Peer.open();
    peer.send(headers(1, BLOCK.subarray(0, 5), 0));
    t.strictSame(peer.send(other), ['GOAWAY 0 PROTOCOL_ERROR'], name);
    t.strictSame(peer.handler.take(), [], name);
  }
});

t.test('more CONTINUATION frames than anybody needs end the connection', async t => {
  const peer = Http2Peer.open();
  const parts = Array.from({ length: maxContinuations(LIST_BYTES) }, () => continuation(1, Buffer.alloc(0)));
  t.strictSame(peer.send(headers(1, BLOCK, 0), ...parts), [], 'up to the border');
  t.strictSame(peer.send(continuation(1, Buffer.alloc(0), END_HEADERS)), ['GOAWAY 0 ENHANCE_YOUR_CALM']);
});

t.test('CONTINUATION frames are counted per section', async t => {
  const peer = Http2Peer.open();
  const section = (id: number): Buffer[] => [
    headers(id, BLOCK, 0),
    ...Array.from({ length: maxContinuations(LIST_BYTES) - 1 }, () => continuation(id, Buffer.alloc(0))),
    continuation(id, Buffer.alloc(0), END_HEADERS),
  ];
  t.strictSame(peer.send(...section(1), ...section(3)), []);
  t.equal(peer.handler.take().length, 2);
});

t.test('a compressed section longer than the bound ends the connection', async t => {
  const peer = Http2Peer.open();
  const part = Buffer.alloc(16_384);
  const whole = Array.from({ length: maxBlockBytes(LIST_BYTES) / part.length - 1 }, () =>
    continuation(1, part),
  );
  t.strictSame(peer.send(headers(1, part, 0), ...whole), [], 'up to the border');
  t.strictSame(peer.send(continuation(1, Buffer.alloc(1))), ['GOAWAY 0 ENHANCE_YOUR_CALM']);
});

t.test('the bounds of a section grow with the header list that is accepted', async t => {
  t.strictSame([8_192, 131_072, 1_048_576].map(maxBlockBytes), [65_536, 262_144, 2_097_152]);
  t.strictSame([8_192, 131_072, 1_048_576].map(maxContinuations), [32, 32, 256]);
});

t.test('a section with too large a list is answered 431, and its stream is done', async t => {
  const peer = Http2Peer.open({ limits: { maxHeaderListBytes: 500 } });
  const long: Fields = [['x-long', 'x'.repeat(500)]];
  t.strictSame(peer.send(headers(1, requestBlock(...long), END_BOTH)), ['HEADERS 1 431/- END_STREAM']);
  t.strictSame(peer.send(headers(3, requestBlock(...long))), [
    'HEADERS 3 431/- END_STREAM',
    'RST_STREAM 3 NO_ERROR',
  ]);
  t.strictSame(peer.send(data(3, Buffer.from('in flight'), END_STREAM)), []);
  t.strictSame(peer.handler.take(), [], 'the handler is not notified');
  t.strictSame(peer.request(5), []);
  t.strictSame(peer.handler.take(), ['request 5 /s/m'], 'others are served');
});

t.test(
  'a request that depends on itself is a stream error once its section is whole (RFC 7540, 5.3.1)',
  async t => {
    const peer = Http2Peer.open();
    const block = requestBlock();
    const begun = headersWithPriority(1, block.subarray(0, 9), 1, 0);
    t.strictSame(peer.send(begun), []);
    t.strictSame(peer.send(continuation(1, block.subarray(9), END_HEADERS)), ['RST_STREAM 1 PROTOCOL_ERROR']);
    t.strictSame(peer.send(headers(3, block), headersWithPriority(3, block, 3, END_BOTH)), [
      'RST_STREAM 3 PROTOCOL_ERROR',
    ]);
    t.strictSame(peer.handler.take(), ['request 3 /s/m', 'aborted 3 PROTOCOL_ERROR']);
  },
);

/** Requests whose fields are entries of the dynamic table from the second one on. */
function indexing(): (more?: Fields) => Buffer {
  const encoder = new HpackEncoder({ maxTableSize: 4_096 });
  return (more = []) => {
    const to = new ByteWriter();
    encoder.startBlock(to);
    for (const [name, value] of [...REQUEST, ...more]) encoder.field(to, name, value, 'index');
    return Buffer.from(to.take());
  };
}

/** Sections that come to nothing, and yet may change the dynamic table (RFC 9113, 4.3). */
const VAIN: Record<string, (peer: Http2Peer, block: Buffer) => void> = {
  'on a stream that we have reset': (peer, block) => {
    peer.send(headers(1, requestBlock()));
    peer.connection.reset(peer.stream(1), 8);
    peer.send(headers(1, block, END_BOTH));
  },
  'of a malformed request': (peer, block) => {
    peer.send(headers(1, Buffer.concat([block, fieldBlock([['X-UPPER', '']])])));
  },
  'of a stream beyond the limit': (peer, block) => {
    for (const id of [1, 3]) peer.request(id);
    peer.send(headers(5, block), rstStream(1), rstStream(3));
  },
  'of trailers': (peer, block) => {
    peer.send(headers(1, requestBlock()), headers(1, block.subarray(0), END_BOTH));
  },
  'that is answered 431': (peer, block) => {
    peer.send(headers(1, Buffer.concat([block, fieldBlock([['x-long', 'x'.repeat(2_000)]])])));
  },
  'whose stream depends on itself': (peer, block) => {
    peer.send(headers(1, Buffer.concat([Buffer.of(0, 0, 0, 1, 0), block]), END_BOTH | 0x20));
  },
};

for (const [name, send] of Object.entries(VAIN)) {
  t.test(`a section ${name} changes the dynamic table all the same (RFC 9113, 4.3)`, async t => {
    const peer = Http2Peer.open({ limits: { maxStreams: 2, maxHeaderListBytes: 2_000 } });
    const block = indexing();
    const mark: Fields = [['x-mark', 'kept']];
    send(peer, block(mark));
    peer.take();
    peer.send(headers(7, block(mark), END_BOTH));
    t.match(peer.handler.take().at(-1), /^request 7/);
    t.strictSame(peer.handler.heads.at(-1)?.block.names.at(-1), 'x-mark');
    t.strictSame(peer.handler.heads.at(-1)?.block.values.at(-1), 'kept');
  });
}
