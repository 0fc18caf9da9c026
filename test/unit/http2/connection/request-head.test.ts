import t from 'tap';
import { END_BOTH, END_STREAM } from '../../../support/http2-frames.ts';
import { Http2Peer, REQUEST, requestBlock } from '../../../support/http2-peer.ts';
import { data, type Fields, fieldBlock, headers } from '../../../support/wire-frames.ts';

type Field = Fields[number];

const without = (name: string): Fields => REQUEST.filter(field => field[0] !== name);
const having = (name: string, value: string): Fields =>
  REQUEST.map(field => (field[0] === name ? [name, value] : field));
const and = (...more: Field[]): Fields => [...REQUEST, ...more];

const connect: Fields = [
  [':method', 'CONNECT'],
  [':authority', 'test:1'],
];

/** Requests that are malformed, by the clause of RFC 9113 that says so. */
const MALFORMED: readonly (readonly [clause: string, what: string, fields: Fields])[] = [
  ['8.2', 'an upper case name', and(['X-Case', 'a'])],
  ['8.2.1', 'an empty name', and(['', 'a'])],
  ['8.2.1', 'a name with a space', and(['x y', 'a'])],
  ['8.2.1', 'a name with a control character', and(['x\u0001', 'a'])],
  ['8.2.1', 'a name with DEL', and(['x\u007f', 'a'])],
  ['8.2.1', 'a name beyond ASCII', and(['x\u00e9', 'a'])],
  ['8.2.1', 'a name with a colon inside', and(['x:y', 'a'])],
  ['8.2.1', 'a value with NUL', and(['x', 'a\0b'])],
  ['8.2.1', 'a value with LF', and(['x', 'a\nb'])],
  ['8.2.1', 'a value with CR', and(['x', 'a\rb'])],
  ['8.2.1', 'a value that begins with a space', and(['x', ' a'])],
  ['8.2.1', 'a value that begins with a tab', and(['x', '\ta'])],
  ['8.2.1', 'a value that ends with a space', and(['x', 'a '])],
  ['8.2.1', 'a value that ends with a tab', and(['x', 'a\t'])],
  ['8.2.1', 'a pseudo-field with LF', having(':path', '/a\nb')],
  ['8.2.2', 'connection', and(['connection', 'keep-alive'])],
  ['8.2.2', 'proxy-connection', and(['proxy-connection', 'keep-alive'])],
  ['8.2.2', 'keep-alive', and(['keep-alive', 'timeout=5'])],
  ['8.2.2', 'transfer-encoding', and(['transfer-encoding', 'chunked'])],
  ['8.2.2', 'upgrade', and(['upgrade', 'h2c'])],
  ['8.2.2', 'te other than trailers', and(['te', 'trailers, deflate'])],
  ['8.3', 'an unknown pseudo-field', [...REQUEST, [':test', 'a']]],
  ['8.3', 'a pseudo-field of answers', [...REQUEST, [':status', '200']]],
  ['8.3', 'a pseudo-field behind a field', [...REQUEST.slice(0, 3), ['x', 'a'], REQUEST[3]]],
  ['8.3', ':method twice', and([':method', 'POST'])],
  ['8.3', ':scheme twice', and([':scheme', 'http'])],
  ['8.3', ':path twice', and([':path', '/'])],
  ['8.3', ':authority twice', and([':authority', 'test'])],
  ['8.3.1', 'no :method', without(':method')],
  ['8.3.1', 'no :scheme', without(':scheme')],
  ['8.3.1', 'no :path', without(':path')],
  ['8.3.1', 'an empty :method', having(':method', '')],
  ['8.3.1', 'an empty :scheme', having(':scheme', '')],
  ['8.3.1', 'an empty :path', having(':path', '')],
  ['8.3.1', 'an invalid :path', having(':path', 's/m')],
  ['8.3.1', 'a :path of * for another method than OPTIONS', having(':path', '*')],
  ['8.3.1', 'a user in :authority', having(':authority', 'user@test')],
  ['8.5', 'CONNECT with :scheme', [...connect, [':scheme', 'http']]],
  ['8.5', 'CONNECT with :path', [...connect, [':path', '/']]],
  ['8.5', 'CONNECT without :authority', connect.slice(0, 1)],
  ['8.2.1', 'a line feed at the end of a long value', and(['x', `${'x'.repeat(200)}\n`])],
  [
    '8.2.1',
    'a long value with NUL behind one without',
    and(['x', 'x'.repeat(200)], ['y', `${'x'.repeat(199)}\0`]),
  ],
  ['8.1.1', 'nothing at all', []],
];

for (const [clause, what, fields] of MALFORMED) {
  t.test(`${what} makes a request malformed (RFC 9113, ${clause})`, async t => {
    for (const flags of [0x4, END_BOTH]) {
      const peer = Http2Peer.open();
      t.strictSame(peer.send(headers(1, fieldBlock(fields), flags)), ['RST_STREAM 1 PROTOCOL_ERROR']);
      t.strictSame(peer.handler.take(), [], 'the handler is not notified');
      t.strictSame(peer.request(3), []);
      t.strictSame(peer.handler.take(), ['request 3 /s/m'], 'others are served');
    }
  });
}

const WELL_FORMED: Record<string, Fields> = {
  'no :authority': without(':authority'),
  'an empty :authority': having(':authority', ''),
  'another scheme, to which no rule of http applies': [
    ...having(':scheme', 'urn').slice(0, 2),
    [':path', 'x'],
  ],
  'OPTIONS of *': [
    [':method', 'OPTIONS'],
    [':scheme', 'https'],
    [':path', '*'],
  ],
  CONNECT: connect,
  'te: trailers': and(['te', 'trailers']),
  'te: Trailers, as keywords have no case': and(['te', 'Trailers']),
  'an empty value': and(['x', '']),
  'a value beyond ASCII, with a space and a tab inside': and(['x', 'a \t\u00ff']),
  'every character of a token': and(["!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz", '']),
  'a field twice': and(['x', 'a'], ['x', 'b']),
  'content-length twice, and the same': and(['content-length', '0'], ['content-length', '0']),
};

for (const [what, fields] of Object.entries(WELL_FORMED)) {
  t.test(`${what} is well formed`, async t => {
    const peer = Http2Peer.open();
    t.strictSame(peer.send(headers(1, fieldBlock(fields))), []);
    t.equal(peer.handler.take().length, 1);
  });
}

t.test('the head tells method, path and length', async t => {
  const peer = Http2Peer.open();
  peer.send(headers(1, requestBlock(['content-length', '0012'])), headers(3, requestBlock()));
  t.match(peer.handler.heads, [
    { method: 'POST', path: '/s/m', contentLength: 12 },
    { method: 'POST', path: '/s/m', contentLength: -1 },
  ]);
});

t.test('a content-length that is not a single number makes a request malformed (RFC 9110, 8.6)', async t => {
  for (const value of ['', '-1', '+1', '1.0', '0x1', '1, 1', '1 1', '9'.repeat(16)]) {
    const peer = Http2Peer.open();
    t.strictSame(
      peer.send(headers(1, requestBlock(['content-length', value]))),
      ['RST_STREAM 1 PROTOCOL_ERROR'],
      value,
    );
  }
  const peer = Http2Peer.open();
  const two = requestBlock(['content-length', '0'], ['content-length', '1']);
  t.strictSame(peer.send(headers(1, two)), ['RST_STREAM 1 PROTOCOL_ERROR']);
});

/** Requests that say content-length 5, and what comes of them; the handler has heard what came before the error. */
const LENGTHS: Record<string, { frames: Buffer[]; outcome: string[] }> = {
  'DATA of that length': { frames: [data(1, Buffer.from('12345'), END_STREAM)], outcome: [] },
  'DATA of that length in parts, and END_STREAM alone': {
    frames: [data(1, Buffer.from('123')), data(1, Buffer.from('45')), data(1, Buffer.alloc(0), END_STREAM)],
    outcome: [],
  },
  'padding beside it': { frames: [data(1, Buffer.from('\u000212345\0\0'), END_STREAM | 0x8)], outcome: [] },
  'trailers behind it': {
    frames: [data(1, Buffer.from('12345')), headers(1, fieldBlock([['x', '']]), END_BOTH)],
    outcome: [],
  },
  'less DATA': {
    frames: [data(1, Buffer.from('1234'), END_STREAM)],
    outcome: ['RST_STREAM 1 PROTOCOL_ERROR'],
  },
  'less DATA, and trailers': {
    frames: [data(1, Buffer.from('1234')), headers(1, fieldBlock([['x', '']]), END_BOTH)],
    outcome: ['RST_STREAM 1 PROTOCOL_ERROR'],
  },
  'more DATA': {
    frames: [data(1, Buffer.from('123456'), END_STREAM)],
    outcome: ['RST_STREAM 1 PROTOCOL_ERROR'],
  },
  'more DATA, before its end is known': {
    frames: [data(1, Buffer.from('123')), data(1, Buffer.from('456'))],
    outcome: ['RST_STREAM 1 PROTOCOL_ERROR'],
  },
};

for (const [what, { frames, outcome }] of Object.entries(LENGTHS)) {
  t.test(`content-length and ${what} (RFC 9113, 8.1.1)`, async t => {
    const peer = Http2Peer.open();
    t.strictSame(peer.send(headers(1, requestBlock(['content-length', '5'])), ...frames), outcome);
    const last = outcome.length === 0 ? / end$/ : /^aborted 1 PROTOCOL_ERROR$/;
    t.match(peer.handler.take().at(-1), last);
  });
}

t.test('a content-length of 0 and content is malformed (RFC 9113, 8.1.1)', async t => {
  for (const flags of [0, END_STREAM]) {
    const peer = Http2Peer.open();
    peer.send(headers(1, requestBlock(['content-length', '0'])));
    t.strictSame(peer.send(data(1, Buffer.from('x'), flags)), ['RST_STREAM 1 PROTOCOL_ERROR']);
  }
});

/** Trailers that make their request malformed. */
const BAD_TRAILERS: Record<string, Fields> = {
  'a pseudo-field (RFC 9113, 8.1)': [[':path', '/']],
  'an upper case name (RFC 9113, 8.2)': [['X-Sum', '1']],
  'a forbidden character (RFC 9113, 8.2.1)': [['x-sum', '1\n']],
  'a field of HTTP/1.1 (RFC 9113, 8.2.2)': [['connection', 'close']],
};

for (const [what, fields] of Object.entries(BAD_TRAILERS)) {
  t.test(`trailers with ${what} make the request malformed`, async t => {
    const peer = Http2Peer.open();
    t.strictSame(peer.send(headers(1, requestBlock()), headers(1, fieldBlock(fields), END_BOTH)), [
      'RST_STREAM 1 PROTOCOL_ERROR',
    ]);
    t.strictSame(peer.handler.take(), ['request 1 /s/m', 'aborted 1 PROTOCOL_ERROR']);
  });
}

t.test('a block that was checked is not checked again', async t => {
  const peer = Http2Peer.open();
  for (const id of [1, 3]) peer.request(id);
  t.equal(peer.handler.heads[0], peer.handler.heads[1], 'what was worked out of it is there');
});

t.test('a malformed block is malformed each time it comes', async t => {
  const peer = Http2Peer.open();
  const block = fieldBlock(and(['X-Case', 'a']));
  for (const id of [1, 3, 5])
    t.strictSame(peer.send(headers(id, block)), [`RST_STREAM ${id} PROTOCOL_ERROR`]);
});
