import t from 'tap';
import { END_HEADERS, END_STREAM, headersWithPriority, uint32 } from '../../support/http2-frames.ts';
import {
  continuation,
  data,
  fieldBlock,
  frame,
  grpcFields,
  headers,
  ping,
  priority,
  rstStream,
  TYPE,
  windowUpdate,
} from '../../support/wire-frames.ts';
import {
  type Case,
  Conversation,
  connectionError,
  echoBlock,
  echoCall,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
  silentCall,
  streamError,
  watchCall,
} from './conversation.ts';

/*
 * RFC 9113, 5: states and identifiers of streams, how many there may be, and what becomes of errors.
 */

const TRAILERS = fieldBlock([['x-sum', '1']]);
const EVERYTHING = END_HEADERS | END_STREAM;

/** Streams that are closed, and for how long the client can know it. */
const ANSWERED = echoCall(1, 'done');
const RESET: readonly Buffer[] = [echoHead(1), rstStream(1)];

const CASES: readonly Case[] = [
  {
    name: '5.1 idle: DATA is a connection error of type PROTOCOL_ERROR',
    says: [data(1, Buffer.from('x'), END_STREAM)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.1 idle: RST_STREAM is a connection error of type PROTOCOL_ERROR',
    says: [rstStream(1)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.1 idle: WINDOW_UPDATE is a connection error of type PROTOCOL_ERROR',
    says: [windowUpdate(1, 100)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.1 idle: CONTINUATION is a connection error of type PROTOCOL_ERROR',
    says: [continuation(1, echoBlock(), END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.1 idle: PRIORITY is accepted, and opens no stream',
    says: [priority(1), priority(7, 5), echoCall(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '5.1 half closed (remote): DATA is a stream error of type STREAM_CLOSED',
    says: [silentCall(1), data(1, Buffer.from('x'), END_STREAM)],
    hears: streamError('STREAM_CLOSED'),
  },
  {
    name: '5.1 half closed (remote): HEADERS are a stream error of type STREAM_CLOSED',
    says: [silentCall(1), headers(1, TRAILERS, EVERYTHING)],
    hears: streamError('STREAM_CLOSED'),
  },
  {
    name: '5.1 half closed (remote): CONTINUATION is a connection error of type PROTOCOL_ERROR',
    says: [silentCall(1), continuation(1, TRAILERS, END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '5.1 half closed (remote): WINDOW_UPDATE and PRIORITY are accepted',
    says: [silentCall(1), windowUpdate(1, 1), priority(1)],
    hears: [],
  },
  {
    name: '5.1 half closed (remote): RST_STREAM is accepted',
    says: [watchCall(1, 'x'), rstStream(1)],
    hears: ['HEADERS 1 200/-', 'DATA 1 "\\u0000\\u0000\\u0000\\u0000\\u0001x"'],
  },
  {
    name: '5.1 closed by RST_STREAM: DATA is a stream error of type STREAM_CLOSED',
    says: [...RESET, data(1, Buffer.from('x'), END_STREAM), echoCall(3, 'on')],
    hears: [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  },
  {
    name: '5.1 closed by RST_STREAM: HEADERS are a stream error of type STREAM_CLOSED',
    says: [...RESET, echoHead(1), echoCall(3, 'on')],
    hears: [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  },
  {
    name: '5.1 closed by RST_STREAM: one stream error is enough for all frames that follow',
    says: [
      ...RESET,
      data(1, Buffer.from('queued')),
      windowUpdate(1, 1),
      priority(1),
      headers(1, TRAILERS, EVERYTHING),
      echoCall(3, 'on'),
    ],
    hears: [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  },
  {
    name: '5.1 closed by RST_STREAM: frames behind END_STREAM are a connection error of type STREAM_CLOSED',
    says: [...RESET, data(1, Buffer.from('last'), END_STREAM), data(1, Buffer.from('behind it'))],
    hears: [...streamError('STREAM_CLOSED'), ...connectionError('STREAM_CLOSED', 1)],
  },
  {
    name: '5.1 closed by RST_STREAM: CONTINUATION is a connection error of type PROTOCOL_ERROR',
    says: [...RESET, continuation(1, TRAILERS, END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '5.1 closed by END_STREAM: DATA is a connection error of type STREAM_CLOSED',
    says: [ANSWERED, data(1, Buffer.from('x'), END_STREAM)],
    hears: [...echoed(1, 'done'), ...connectionError('STREAM_CLOSED', 1)],
  },
  {
    name: '5.1 closed by END_STREAM: HEADERS are a connection error of type STREAM_CLOSED',
    says: [ANSWERED, echoHead(1, EVERYTHING)],
    hears: [...echoed(1, 'done'), ...connectionError('STREAM_CLOSED', 1)],
  },
  {
    name: '5.1 closed by END_STREAM: CONTINUATION is a connection error of type PROTOCOL_ERROR',
    says: [ANSWERED, continuation(1, TRAILERS, END_HEADERS)],
    hears: [...echoed(1, 'done'), ...connectionError('PROTOCOL_ERROR', 1)],
  },
  {
    name: '5.1 closed: PRIORITY, WINDOW_UPDATE and RST_STREAM are accepted',
    says: [ANSWERED, priority(1), windowUpdate(1, 1), rstStream(1), echoCall(3, 'on')],
    hears: [...echoed(1, 'done'), ...echoed(3, 'on')],
  },
  {
    name: '5.1 closed by the server: what was under way is ignored',
    says: [
      headers(1, echoBlock(['X-Upper', 'malformed'])),
      data(1, Buffer.from('under way')),
      windowUpdate(1, 1),
      headers(1, TRAILERS, EVERYTHING),
      echoCall(3, 'on'),
    ],
    hears: [...streamError('PROTOCOL_ERROR'), ...echoed(3, 'on')],
  },
  {
    name: '5.1 closed by the server: what follows the end of the client is an error of type STREAM_CLOSED',
    says: [
      headers(1, echoBlock(['X-Upper', 'malformed'])),
      data(1, Buffer.from('last'), END_STREAM),
      data(1, Buffer.from('behind it')),
    ],
    hears: [...streamError('PROTOCOL_ERROR'), ...connectionError('STREAM_CLOSED', 1)],
  },
  {
    name: '5.1.1 a stream of an even number is a connection error of type PROTOCOL_ERROR',
    says: [echoHead(2)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.1.1 a stream below one that was opened is a connection error of type PROTOCOL_ERROR',
    says: [silentCall(5), echoHead(3)],
    hears: connectionError('PROTOCOL_ERROR', 5),
  },
  {
    name: '5.1.1 streams may be passed over',
    says: [echoCall(1, 'one'), echoCall(9, 'nine'), echoCall(0x7fff_ffff, 'the last')],
    hears: [...echoed(1, 'one'), ...echoed(9, 'nine'), ...echoed(0x7fff_ffff, 'the last')],
  },
  {
    name: '5.1.1 frames of the connection on a stream, and the other way round, are errors of the connection',
    says: [data(0, Buffer.from('x'))],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: 'RFC 7540, 5.3.1 HEADERS that depend on their own stream are a stream error of type PROTOCOL_ERROR',
    says: [headersWithPriority(1, echoBlock(), 1), echoCall(3, 'on')],
    hears: [...streamError('PROTOCOL_ERROR'), ...echoed(3, 'on')],
  },
  {
    name: 'RFC 7540, 5.3.1 PRIORITY that depends on its own stream is a stream error of type PROTOCOL_ERROR',
    says: [silentCall(1), priority(1, 1)],
    hears: streamError('PROTOCOL_ERROR'),
  },
  {
    name: 'RFC 7540, 5.3.1 PRIORITY of an idle stream that depends on itself is an error of type PROTOCOL_ERROR',
    says: [priority(2, 2)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '5.4.1 an error of the connection says which streams were looked at, and ends it',
    says: [echoCall(1, 'one'), silentCall(3), ping('sound...'), frame(TYPE.ping, 0, 0, Buffer.alloc(7))],
    hears: [...echoed(1, 'one'), 'PING ack sound...', ...connectionError('FRAME_SIZE_ERROR', 3)],
  },
  {
    name: '5.4.2 an error of a stream leaves the others alone',
    says: [echoHead(1), silentCall(3), data(3, uint32(1)), echoMessage(1, 'on')],
    hears: [...streamError('STREAM_CLOSED', 3), ...echoed(1, 'on')],
  },
  {
    name: '5.4.2 RST_STREAM is not answered with RST_STREAM',
    says: [echoHead(1), rstStream(1), rstStream(1)],
    hears: [],
  },
];

examine(t, await serve(t), CASES);

t.test(
  '5.1.2 streams beyond SETTINGS_MAX_CONCURRENT_STREAMS are a stream error of type REFUSED_STREAM',
  async t => {
    const conversation = await Conversation.open(t, await serve(t, { maxStreams: 3 }));
    const calls = [1, 3, 5, 7].map(silentCall);
    t.strictSame(await conversation.say(...calls), streamError('REFUSED_STREAM', 7));
    t.strictSame(await conversation.say(rstStream(3), echoCall(9, 'on')), echoed(9, 'on'), 'until one ends');
  },
);

t.test('5.1.2 streams that are open count as well as those that are half closed', async t => {
  const conversation = await Conversation.open(t, await serve(t, { maxStreams: 2 }));
  const opened = [1, 3, 5].map(stream => headers(stream, fieldBlock(grpcFields('/s/Silent'))));
  t.strictSame(await conversation.say(...opened, priority(9)), streamError('REFUSED_STREAM', 5));
});
