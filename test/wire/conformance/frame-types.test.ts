import t from 'tap';
import {
  END_BOTH,
  END_STREAM,
  goAway,
  headersWithPriority,
  paddedData,
  paddedHeaders,
  pushPromise,
} from '../../support/http2-frames.ts';
import {
  data,
  frame,
  grpcMessage,
  headers,
  ping,
  pingAck,
  priority,
  rstStream,
  TYPE,
  windowUpdate,
} from '../../support/wire-frames.ts';
import {
  accepted,
  Conversation,
  connectionErrors,
  echoBlock,
  echoCall,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
  silentCall,
  streamErrors,
} from './conversation.ts';

/*
 * RFC 9113, 6.1 to 6.4 and 6.6 to 6.8: DATA, HEADERS, PRIORITY, RST_STREAM, PUSH_PROMISE, PING, GOAWAY.
 */

const MESSAGE = grpcMessage('on').toString('latin1');

const serving = await serve(t);

connectionErrors(t, serving, ['PROTOCOL_ERROR', 1], {
  '6.1 DATA on stream 0': [echoHead(1), data(0, Buffer.from('x'), END_STREAM)],
  '6.1 DATA with padding as long as its payload': [
    echoHead(1),
    data(1, Buffer.from('\x05test', 'latin1'), END_STREAM | 0x8),
  ],
  '6.6 and 8.4 PUSH_PROMISE': [silentCall(1), pushPromise(1, 2, echoBlock())],
});

streamErrors(t, serving, 'STREAM_CLOSED', {
  '6.1 DATA on a stream that is neither open nor half closed (local)': [
    silentCall(1),
    data(1, Buffer.from('x'), END_STREAM),
  ],
});

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 1], {
  '6.1 PADDED without a pad length': [echoHead(1), data(1, Buffer.alloc(0), END_STREAM | 0x8)],
  '6.4 RST_STREAM of another length than 4': [silentCall(1), frame(TYPE.rstStream, 0, 1, Buffer.alloc(3))],
});

accepted(t, serving, {
  '6.2 padded HEADERS': [paddedHeaders(1, echoBlock(), 255), echoMessage(1, 'on')],
  '6.2 HEADERS with priority': [headersWithPriority(1, echoBlock(), 0), echoMessage(1, 'on')],
  '6.2 HEADERS that depend on a stream nobody has seen': [
    headersWithPriority(1, echoBlock(), 101),
    echoMessage(1, 'on'),
  ],
  '6.3 PRIORITY of the least and the highest weight, exclusive or not': [
    frame(TYPE.priority, 0, 1, Buffer.from('0000000000', 'hex')),
    frame(TYPE.priority, 0, 1, Buffer.from('80000000ff', 'hex')),
    echoCall(1, 'on'),
  ],
  '6.9 WINDOW_UPDATE on a stream and on the connection': [
    windowUpdate(0, 1),
    echoHead(1),
    windowUpdate(1, 1),
    echoMessage(1, 'on'),
  ],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '6.2 HEADERS on stream 0': [echoHead(0)],
  '6.2 HEADERS with padding beyond the room for their fragment': [
    headers(1, Buffer.concat([Buffer.of(200), echoBlock().subarray(0, 100)]), END_BOTH | 0x8),
  ],
  '6.3 PRIORITY on stream 0': [priority(0)],
  '6.4 RST_STREAM on stream 0': [rstStream(0)],
  '6.4 RST_STREAM on an idle stream': [rstStream(1)],
  '6.7 PING on a stream': [frame(TYPE.ping, 0, 1, Buffer.alloc(8))],
  '6.8 GOAWAY on a stream': [frame(TYPE.goAway, 0, 1, Buffer.alloc(8))],
});

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 0], {
  '6.2 HEADERS too short for their priority': [headers(1, Buffer.alloc(4), END_BOTH | 0x20)],
  '6.7 PING of another length than 8': [frame(TYPE.ping, 0, 0, Buffer.alloc(6))],
  '6.8 GOAWAY shorter than its fields': [frame(TYPE.goAway, 0, 0, Buffer.alloc(7))],
});

streamErrors(t, serving, 'FRAME_SIZE_ERROR', {
  '6.3 PRIORITY of another length than 5': [silentCall(1), frame(TYPE.priority, 0, 1, Buffer.alloc(4))],
});

examine(t, serving, {
  '6.1 DATA in parts is accepted, the last one empty': [
    [
      echoHead(1),
      data(1, grpcMessage('on').subarray(0, 3)),
      data(1, grpcMessage('on').subarray(3)),
      data(1, Buffer.alloc(0), END_STREAM),
    ],
    echoed(1, 'on'),
  ],
  '6.1 padded DATA is accepted': [
    [
      echoHead(1),
      paddedData(1, MESSAGE, 255, END_STREAM),
      echoHead(3),
      paddedData(3, MESSAGE, 0, END_STREAM),
    ],
    [...echoed(1, 'on'), ...echoed(3, 'on')],
  ],
  '6.3 PRIORITY of an idle stream does not keep lower ones from being opened': [
    [priority(3), echoCall(1, 'on')],
    echoed(1, 'on'),
  ],
  '6.4 RST_STREAM is accepted, and ends its stream only': [
    [echoHead(1), silentCall(3), rstStream(3), echoMessage(1, 'on')],
    echoed(1, 'on'),
  ],
  '6.7 PING is answered with its octets': [[ping('h2 wire!')], ['PING ack h2 wire!']],
  '6.7 the answer to a PING is not answered': [
    [pingAck(Buffer.from('unasked!')), ping('h2 wire!')],
    ['PING ack h2 wire!'],
  ],
  '6.8 GOAWAY is accepted, and what was asked before it is answered': [
    [echoHead(1), goAway(0, 'NO_ERROR', 'bye'), echoMessage(1, 'on')],
    ['GOAWAY 1 NO_ERROR', ...echoed(1, 'on'), 'end'],
  ],
  '7 GOAWAY with an unknown code is one all the same': [[goAway(0, 0xff)], ['GOAWAY 0 NO_ERROR', 'end']],
  '7 RST_STREAM with an unknown code is one all the same': [
    [silentCall(1), rstStream(1, 0xff), echoCall(3, 'on')],
    echoed(3, 'on'),
  ],
});

t.test('6.8 a server that stops says so, serves what is in progress, and names the last stream', async t => {
  const stopping = await serve(t);
  const conversation = await Conversation.open(t, stopping);
  conversation.client.answersPings = false;
  t.strictSame(await conversation.say(echoHead(1)), []);
  void stopping.server.stop();
  t.strictSame(await conversation.say(echoHead(3)), [`GOAWAY ${0x7fff_ffff} NO_ERROR`, 'PING drain...']);
  t.strictSame(await conversation.say(pingAck(Buffer.from('drain...'))), ['GOAWAY 3 NO_ERROR']);
  t.strictSame(await conversation.say(echoHead(5), echoMessage(1, 'one')), echoed(1, 'one'));
  t.strictSame(await conversation.say(echoMessage(3, 'three')), [...echoed(3, 'three'), 'end']);
});
