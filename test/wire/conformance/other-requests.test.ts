import t from 'tap';
import { END_BOTH, END_STREAM } from '../../support/http2-frames.ts';
import { connectionsDownTo } from '../../support/own-server.ts';
import {
  data,
  type Fields,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  PARAMETER,
  rstStream,
  windowUpdate,
} from '../../support/wire-frames.ts';
import {
  Conversation,
  echoCall,
  echoed,
  echoMessage,
  examine,
  serve,
  streamError,
  streamErrors,
} from './conversation.ts';

/*
 * Requests that are well formed and no gRPC calls (RFC 9113, 8.1; RFC 9110, 15.5.6 and 15.5.16): answered like any
 * others of HTTP, with a text for people, once they have ended.
 */

const EARLY_BYTES = 65_536;

/** A request that differs from a gRPC call in these fields. */
function requestBlock(changed: Readonly<Record<string, string>>): Buffer {
  return fieldBlock(grpcFields('/s/Echo', changed));
}

const get = requestBlock({ ':method': 'GET', 'content-type': '' });
const post = requestBlock({ 'content-type': 'text/plain' });
const connect: Fields = [
  [':method', 'CONNECT'],
  [':authority', 'localhost:1'],
];

const GET_TEXT = 'gRPC calls use POST, not GET\n';
const POST_TEXT = 'this port serves gRPC only: content-type must be application/grpc\n';

function refused(status: number, text: string, stream = 1): string[] {
  const shown = text.length > 40 ? `${text.length} octets` : JSON.stringify(text);
  return [`HEADERS ${stream} ${status}/-`, `DATA ${stream} ${shown}`, `HEADERS ${stream} -/2 END_STREAM`];
}

/** The answer that did not wait for the end of the request; the rest of it is not wanted. */
function refusedEarly(status: number, text: string, stream = 1): string[] {
  return [...refused(status, text, stream), `RST_STREAM ${stream} NO_ERROR`];
}

const serving = await serve(t);

const METHODS: Record<string, { block: Buffer; heard: string[] }> = {
  GET: { block: get, heard: refused(405, GET_TEXT) },
  PUT: {
    block: requestBlock({ ':method': 'PUT' }),
    heard: refused(405, 'gRPC calls use POST, not PUT\n'),
  },
  'OPTIONS of *': {
    block: requestBlock({ ':method': 'OPTIONS', ':path': '*' }),
    heard: refused(405, 'gRPC calls use POST, not OPTIONS\n'),
  },
  CONNECT: { block: fieldBlock(connect), heard: refused(405, 'gRPC calls use POST, not CONNECT\n') },
  'POST of another content': { block: post, heard: refused(415, POST_TEXT) },
  'POST of content without a type': {
    block: requestBlock({ 'content-type': '' }),
    heard: refused(415, POST_TEXT),
  },
};

for (const [name, { block, heard }] of Object.entries(METHODS)) {
  t.test(`${name} is answered with a status, and a text that says why`, async t => {
    const conversation = await Conversation.open(t, serving);
    t.strictSame(await conversation.say(headers(1, block, END_BOTH)), heard);
    t.strictSame(await conversation.say(echoCall(3, 'on')), echoed(3, 'on'), 'calls are served beside it');
  });
}

t.test('HEAD is answered like GET, without the text', async t => {
  const conversation = await Conversation.open(t, serving);
  const block = requestBlock({ ':method': 'HEAD', 'content-type': '' });
  t.strictSame(await conversation.say(headers(1, block, END_BOTH)), ['HEADERS 1 405/2 END_STREAM']);
  t.match((await conversation.client.answer(1)).fields, {
    'content-type': 'text/plain; charset=utf-8',
    allow: 'POST',
  });
});

t.test('the answers name what is allowed, and their content', async t => {
  const { client } = await Conversation.open(t, serving);
  client.send(headers(1, get, END_BOTH), headers(3, post, END_BOTH));
  t.strictSame((await client.answer(1)).fields, {
    ':status': '405',
    allow: 'POST',
    'content-type': 'text/plain; charset=utf-8',
    'grpc-status': '2',
    'grpc-message': GET_TEXT.trimEnd(),
  });
  t.match((await client.answer(3)).fields, {
    ':status': '415',
    accept: 'application/grpc',
    'content-type': 'text/plain; charset=utf-8',
  });
});

t.test('an answer waits until the request has ended, however it ends', async t => {
  for (const ends of [
    [data(1, Buffer.alloc(0), END_STREAM)],
    [data(1, Buffer.alloc(100)), data(1, Buffer.alloc(1), END_STREAM)],
    [data(1, Buffer.alloc(20)), headers(1, fieldBlock([['x-sum', '1']]), END_BOTH)],
    [echoMessage(1, 'looks like a message')],
  ]) {
    const conversation = await Conversation.open(t, serving);
    t.strictSame(await conversation.say(headers(1, post)), []);
    t.strictSame(await conversation.say(...ends.slice(0, -1)), []);
    t.strictSame(await conversation.say(ends[ends.length - 1]), refused(415, POST_TEXT));
  }
  t.equal(serving.server.heldBytes, 0);
});

streamErrors(t, serving, 'PROTOCOL_ERROR', {
  '8.1 a second header section without END_STREAM': [headers(1, get), headers(1, get)],
  '8.1 a pseudo-field among trailers': [
    headers(1, post),
    headers(1, fieldBlock([[':method', 'GET']]), END_BOTH),
  ],
  '8.1.1 content-length other than the length of the content': [
    headers(1, requestBlock({ ':method': 'PUT', 'content-length': '1' })),
    data(1, Buffer.alloc(4), END_STREAM),
  ],
  '8.1.1 content-length other than the sum of the content': [
    headers(1, requestBlock({ 'content-type': 'text/plain', 'content-length': '9' })),
    data(1, Buffer.alloc(4)),
    data(1, Buffer.alloc(4), END_STREAM),
  ],
});

streamErrors(t, serving, 'FLOW_CONTROL_ERROR', {
  '6.9.1 a window beyond 2^31 - 1': [headers(1, get), windowUpdate(1, 2 ** 31 - 1)],
});

examine(t, serving, {
  '5.4.2 a request that is reset is not answered': [[headers(1, get), rstStream(1)], []],
});

t.test('5.1.2 requests that wait for their end count as streams', async t => {
  const serving = await serve(t, { maxStreams: 3 });
  const conversation = await Conversation.open(t, serving);
  t.strictSame(
    await conversation.say(...[1, 3, 5, 7].map(id => headers(id, get))),
    streamError('REFUSED_STREAM', 7),
  );
  conversation.client.socket.destroy();
  await connectionsDownTo(serving.server, 0);
  t.strictSame([serving.server.streamCount, serving.server.heldBytes], [0, 0]);
});

t.test('a long request is answered before its end, and the rest of it is ignored', async t => {
  const conversation = await Conversation.open(t, serving);
  const parts = Array.from({ length: 4 }, () => data(1, Buffer.alloc(EARLY_BYTES / 4)));
  t.strictSame(await conversation.say(headers(1, post), ...parts), []);
  t.strictSame(await conversation.say(data(1, Buffer.alloc(1))), refusedEarly(415, POST_TEXT));
  t.strictSame(
    await conversation.say(...parts, data(1, Buffer.alloc(0), END_STREAM), echoCall(3, 'on')),
    echoed(3, 'on'),
  );
});

/** Requests of which nothing more comes before they are answered, by RFC 9110, 9.3.6 and 10.1.1. */
const AWAITING: Record<string, { block: Buffer; heard: string[] }> = {
  CONNECT: { block: fieldBlock(connect), heard: refusedEarly(405, 'gRPC calls use POST, not CONNECT\n') },
  'a request that expects 100-continue': {
    block: requestBlock({ 'content-type': 'text/plain', expect: '100-continue' }),
    heard: refusedEarly(415, POST_TEXT),
  },
};

for (const [name, { block, heard }] of Object.entries(AWAITING)) {
  t.test(`${name} is answered at once`, async t => {
    const conversation = await Conversation.open(t, serving);
    t.strictSame(await conversation.say(headers(1, block)), heard);
  });
}

t.test('an answer that does not fit the window of its stream goes when that is opened', async t => {
  const conversation = await Conversation.open(t, serving, [PARAMETER.initialWindowSize, 10]);
  t.strictSame(await conversation.say(headers(1, get, END_BOTH)), [
    'HEADERS 1 405/-',
    `DATA 1 ${JSON.stringify(GET_TEXT.slice(0, 10))}`,
  ]);
  t.strictSame(await conversation.say(windowUpdate(1, 100)), [
    `DATA 1 ${JSON.stringify(GET_TEXT.slice(10))}`,
    'HEADERS 1 -/2 END_STREAM',
  ]);
});

t.test('content that is a message of gRPC reaches no method', async t => {
  const conversation = await Conversation.open(t, serving);
  t.strictSame(
    await conversation.say(headers(1, post), data(1, grpcMessage('on'), END_STREAM)),
    refused(415, POST_TEXT),
  );
});
