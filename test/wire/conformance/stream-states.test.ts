import t from 'tap';
import { END_HEADERS, END_STREAM, headersWithPriority } from '../../support/http2-frames.ts';
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
  uint32,
  windowUpdate,
} from '../../support/wire-frames.ts';
import {
  Conversation,
  connectionError,
  connectionErrors,
  echoBlock,
  echoCall,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
  silentCall,
  streamError,
  streamErrors,
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

const serving = await serve(t);

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '5.1 idle: DATA': [data(1, Buffer.from('x'), END_STREAM)],
  '5.1 idle: RST_STREAM': [rstStream(1)],
  '5.1 idle: WINDOW_UPDATE': [windowUpdate(1, 100)],
  '5.1 idle: CONTINUATION': [continuation(1, echoBlock(), END_HEADERS)],
  '5.1.1 a stream of an even number': [echoHead(2)],
  'RFC 7540, 5.3.1 PRIORITY of an idle stream that depends on itself': [priority(2, 2)],
});

streamErrors(t, serving, 'STREAM_CLOSED', {
  '5.1 half closed (remote): DATA': [silentCall(1), data(1, Buffer.from('x'), END_STREAM)],
  '5.1 half closed (remote): HEADERS': [silentCall(1), headers(1, TRAILERS, EVERYTHING)],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 1], {
  '5.1 half closed (remote): CONTINUATION': [silentCall(1), continuation(1, TRAILERS, END_HEADERS)],
  '5.1 closed by RST_STREAM: CONTINUATION': [...RESET, continuation(1, TRAILERS, END_HEADERS)],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 5], {
  '5.1.1 a stream below one that was opened': [silentCall(5), echoHead(3)],
});

streamErrors(t, serving, 'PROTOCOL_ERROR', {
  'RFC 7540, 5.3.1 PRIORITY that depends on its own stream': [silentCall(1), priority(1, 1)],
});

examine(t, serving, {
  '5.1 idle: PRIORITY is accepted, and opens no stream': [
    [priority(1), priority(7, 5), echoCall(1, 'on')],
    echoed(1, 'on'),
  ],
  '5.1 half closed (remote): WINDOW_UPDATE and PRIORITY are accepted': [
    [silentCall(1), windowUpdate(1, 1), priority(1)],
    [],
  ],
  '5.1 half closed (remote): RST_STREAM is accepted': [
    [watchCall(1, 'x'), rstStream(1)],
    ['HEADERS 1 200/-', 'DATA 1 "\\u0000\\u0000\\u0000\\u0000\\u0001x"'],
  ],
  '5.1 closed by RST_STREAM: DATA is a stream error of type STREAM_CLOSED': [
    [...RESET, data(1, Buffer.from('x'), END_STREAM), echoCall(3, 'on')],
    [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  ],
  '5.1 closed by RST_STREAM: HEADERS are a stream error of type STREAM_CLOSED': [
    [...RESET, echoHead(1), echoCall(3, 'on')],
    [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  ],
  '5.1 closed by RST_STREAM: one stream error is enough for all frames that follow': [
    [
      ...RESET,
      data(1, Buffer.from('queued')),
      windowUpdate(1, 1),
      priority(1),
      headers(1, TRAILERS, EVERYTHING),
      echoCall(3, 'on'),
    ],
    [...streamError('STREAM_CLOSED'), ...echoed(3, 'on')],
  ],
  '5.1 closed by RST_STREAM: frames behind END_STREAM are a connection error of type STREAM_CLOSED': [
    [...RESET, data(1, Buffer.from('last'), END_STREAM), data(1, Buffer.from('behind it'))],
    [...streamError('STREAM_CLOSED'), ...connectionError('STREAM_CLOSED', 1)],
  ],
  '5.1 closed by END_STREAM: DATA is a connection error of type STREAM_CLOSED': [
    [ANSWERED, data(1, Buffer.from('x'), END_STREAM)],
    [...echoed(1, 'done'), ...connectionError('STREAM_CLOSED', 1)],
  ],
  '5.1 closed by END_STREAM: HEADERS are a connection error of type STREAM_CLOSED': [
    [ANSWERED, echoHead(1, EVERYTHING)],
    [...echoed(1, 'done'), ...connectionError('STREAM_CLOSED', 1)],
  ],
  '5.1 closed by END_STREAM: CONTINUATION is a connection error of type PROTOCOL_ERROR': [
    [ANSWERED, continuation(1, TRAILERS, END_HEADERS)],
    [...echoed(1, 'done'), ...connectionError('PROTOCOL_ERROR', 1)],
  ],
  '5.1 closed: PRIORITY, WINDOW_UPDATE and RST_STREAM are accepted': [
    [ANSWERED, priority(1), windowUpdate(1, 1), rstStream(1), echoCall(3, 'on')],
    [...echoed(1, 'done'), ...echoed(3, 'on')],
  ],
  '5.1 closed by the server: what was under way is ignored': [
    [
      headers(1, echoBlock(['X-Upper', 'malformed'])),
      data(1, Buffer.from('under way')),
      windowUpdate(1, 1),
      headers(1, TRAILERS, EVERYTHING),
      echoCall(3, 'on'),
    ],
    [...streamError('PROTOCOL_ERROR'), ...echoed(3, 'on')],
  ],
  '5.1 closed by the server: what follows the end of the client is an error of type STREAM_CLOSED': [
    [
      headers(1, echoBlock(['X-Upper', 'malformed'])),
      data(1, Buffer.from('last'), END_STREAM),
      data(1, Buffer.from('behind it')),
    ],
    [...streamError('PROTOCOL_ERROR'), ...connectionError('STREAM_CLOSED', 1)],
  ],
  '5.1.1 streams may be passed over': [
    [echoCall(1, 'one'), echoCall(9, 'nine'), echoCall(0x7fff_ffff, 'the last')],
    [...echoed(1, 'one'), ...echoed(9, 'nine'), ...echoed(0x7fff_ffff, 'the last')],
  ],
  'RFC 7540, 5.3.1 HEADERS that depend on their own stream are a stream error of type PROTOCOL_ERROR': [
    [headersWithPriority(1, echoBlock(), 1), echoCall(3, 'on')],
    [...streamError('PROTOCOL_ERROR'), ...echoed(3, 'on')],
  ],
  '5.4.1 an error of the connection says which streams were looked at, and ends it': [
    [echoCall(1, 'one'), silentCall(3), ping('sound...'), frame(TYPE.ping, 0, 0, Buffer.alloc(7))],
    [...echoed(1, 'one'), 'PING ack sound...', ...connectionError('FRAME_SIZE_ERROR', 3)],
  ],
  '5.4.2 an error of a stream leaves the others alone': [
    [echoHead(1), silentCall(3), data(3, uint32(1)), echoMessage(1, 'on')],
    [...streamError('STREAM_CLOSED', 3), ...echoed(1, 'on')],
  ],
  '5.4.2 RST_STREAM is not answered with RST_STREAM': [[echoHead(1), rstStream(1), rstStream(1)], []],
});

t.test('5.1.2 streams beyond MAX_CONCURRENT_STREAMS: stream error of type REFUSED_STREAM', async t => {
  const conversation = await Conversation.open(t, await serve(t, { maxStreams: 3 }));
  const calls = [1, 3, 5, 7].map(silentCall);
  t.strictSame(await conversation.say(...calls), streamError('REFUSED_STREAM', 7));
  t.strictSame(await conversation.say(rstStream(3), echoCall(9, 'on')), echoed(9, 'on'), 'until one ends');
});

t.test('5.1.2 streams that are open count as well as those that are half closed', async t => {
  const conversation = await Conversation.open(t, await serve(t, { maxStreams: 2 }));
  const opened = [1, 3, 5].map(stream => headers(stream, fieldBlock(grpcFields('/s/Silent'))));
  t.strictSame(await conversation.say(...opened, priority(9)), streamError('REFUSED_STREAM', 5));
});
