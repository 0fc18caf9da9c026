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
} from './conversation.ts';

/*
 * RFC 9113, 6.1 to 6.4 and 6.6 to 6.8: DATA, HEADERS, PRIORITY, RST_STREAM, PUSH_PROMISE, PING, GOAWAY.
 */

const MESSAGE = grpcMessage('on').toString('latin1');

const CASES: readonly Case[] = [
  {
    name: '6.1 DATA in parts is accepted, the last one empty',
    says: [
      echoHead(1),
      data(1, grpcMessage('on').subarray(0, 3)),
      data(1, grpcMessage('on').subarray(3)),
      data(1, Buffer.alloc(0), END_STREAM),
    ],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.1 padded DATA is accepted',
    says: [
      echoHead(1),
      paddedData(1, MESSAGE, 255, END_STREAM),
      echoHead(3),
      paddedData(3, MESSAGE, 0, END_STREAM),
    ],
    hears: [...echoed(1, 'on'), ...echoed(3, 'on')],
  },
  {
    name: '6.1 DATA on stream 0 is a connection error of type PROTOCOL_ERROR',
    says: [echoHead(1), data(0, Buffer.from('x'), END_STREAM)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '6.1 DATA on a stream that is neither open nor half closed (local) is an error of type STREAM_CLOSED',
    says: [silentCall(1), data(1, Buffer.from('x'), END_STREAM)],
    hears: streamError('STREAM_CLOSED'),
  },
  {
    name: '6.1 DATA with padding as long as its payload is a connection error of type PROTOCOL_ERROR',
    says: [echoHead(1), data(1, Buffer.from('\x05test', 'latin1'), END_STREAM | 0x8)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '6.1 PADDED without a pad length is an error of type FRAME_SIZE_ERROR',
    says: [echoHead(1), data(1, Buffer.alloc(0), END_STREAM | 0x8)],
    hears: connectionError('FRAME_SIZE_ERROR', 1),
  },
  {
    name: '6.2 padded HEADERS are accepted',
    says: [paddedHeaders(1, echoBlock(), 255), echoMessage(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.2 HEADERS with priority are accepted',
    says: [headersWithPriority(1, echoBlock(), 0), echoMessage(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.2 HEADERS that depend on a stream nobody has seen are accepted',
    says: [headersWithPriority(1, echoBlock(), 101), echoMessage(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.2 PRIORITY behind HEADERS without END_HEADERS is a connection error of type PROTOCOL_ERROR',
    says: [echoHead(1, 0), priority(1)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.2 HEADERS of another stream behind HEADERS without END_HEADERS are a connection error of type PROTOCOL_ERROR',
    says: [echoHead(1, 0), echoHead(3)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.2 HEADERS on stream 0 are a connection error of type PROTOCOL_ERROR',
    says: [echoHead(0)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.2 HEADERS with padding beyond the room for their fragment are a connection error of type PROTOCOL_ERROR',
    says: [headers(1, Buffer.concat([Buffer.of(200), echoBlock().subarray(0, 100)]), END_BOTH | 0x8)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.2 HEADERS too short for their priority are a connection error of type FRAME_SIZE_ERROR',
    says: [headers(1, Buffer.alloc(4), END_BOTH | 0x20)],
    hears: connectionError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.3 PRIORITY of the least and the highest weight, exclusive or not, is accepted',
    says: [
      frame(TYPE.priority, 0, 1, Buffer.from('0000000000', 'hex')),
      frame(TYPE.priority, 0, 1, Buffer.from('80000000ff', 'hex')),
      echoCall(1, 'on'),
    ],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.3 PRIORITY of an idle stream does not keep lower ones from being opened',
    says: [priority(3), echoCall(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.3 PRIORITY on stream 0 is a connection error of type PROTOCOL_ERROR',
    says: [priority(0)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.3 PRIORITY of another length than 5 is a stream error of type FRAME_SIZE_ERROR',
    says: [silentCall(1), frame(TYPE.priority, 0, 1, Buffer.alloc(4))],
    hears: streamError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.4 RST_STREAM is accepted, and ends its stream only',
    says: [echoHead(1), silentCall(3), rstStream(3), echoMessage(1, 'on')],
    hears: echoed(1, 'on'),
  },
  {
    name: '6.4 RST_STREAM on stream 0 is a connection error of type PROTOCOL_ERROR',
    says: [rstStream(0)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.4 RST_STREAM on an idle stream is a connection error of type PROTOCOL_ERROR',
    says: [rstStream(1)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.4 RST_STREAM of another length than 4 is a connection error of type FRAME_SIZE_ERROR',
    says: [silentCall(1), frame(TYPE.rstStream, 0, 1, Buffer.alloc(3))],
    hears: connectionError('FRAME_SIZE_ERROR', 1),
  },
  {
    name: '6.6 and 8.4 PUSH_PROMISE is a connection error of type PROTOCOL_ERROR',
    says: [silentCall(1), pushPromise(1, 2, echoBlock())],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '6.7 PING is answered with its octets',
    says: [ping('h2 wire!')],
    hears: ['PING ack h2 wire!'],
  },
  {
    name: '6.7 the answer to a PING is not answered',
    says: [pingAck(Buffer.from('unasked!')), ping('h2 wire!')],
    hears: ['PING ack h2 wire!'],
  },
  {
    name: '6.7 PING on a stream is a connection error of type PROTOCOL_ERROR',
    says: [frame(TYPE.ping, 0, 1, Buffer.alloc(8))],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.7 PING of another length than 8 is a connection error of type FRAME_SIZE_ERROR',
    says: [frame(TYPE.ping, 0, 0, Buffer.alloc(6))],
    hears: connectionError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.8 GOAWAY on a stream is a connection error of type PROTOCOL_ERROR',
    says: [frame(TYPE.goAway, 0, 1, Buffer.alloc(8))],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.8 GOAWAY shorter than its fields is a connection error of type FRAME_SIZE_ERROR',
    says: [frame(TYPE.goAway, 0, 0, Buffer.alloc(7))],
    hears: connectionError('FRAME_SIZE_ERROR'),
  },
  {
    name: '6.8 GOAWAY is accepted, and what was asked before it is answered',
    says: [echoHead(1), goAway(0, 'NO_ERROR', 'bye'), echoMessage(1, 'on')],
    hears: ['GOAWAY 1 NO_ERROR', ...echoed(1, 'on'), 'end'],
  },
  {
    name: '7 GOAWAY with an unknown code is one all the same',
    says: [goAway(0, 0xff)],
    hears: ['GOAWAY 0 NO_ERROR', 'end'],
  },
  {
    name: '7 RST_STREAM with an unknown code is one all the same',
    says: [silentCall(1), rstStream(1, 0xff), echoCall(3, 'on')],
    hears: echoed(3, 'on'),
  },
  {
    name: '6.9 WINDOW_UPDATE on a stream and on the connection is accepted',
    says: [windowUpdate(0, 1), echoHead(1), windowUpdate(1, 1), echoMessage(1, 'on')],
    hears: echoed(1, 'on'),
  },
];

const serving = await serve(t);

examine(t, serving, CASES);

t.test(
  '6.8 a server that stops says so first, serves what was under way, and names the last stream',
  async t => {
    const stopping = await serve(t);
    const conversation = await Conversation.open(t, stopping);
    conversation.client.answersPings = false;
    t.strictSame(await conversation.say(echoHead(1)), []);
    void stopping.server.stop();
    t.strictSame(await conversation.say(echoHead(3)), [`GOAWAY ${0x7fff_ffff} NO_ERROR`, 'PING drain...']);
    t.strictSame(await conversation.say(pingAck(Buffer.from('drain...'))), ['GOAWAY 3 NO_ERROR']);
    t.strictSame(await conversation.say(echoHead(5), echoMessage(1, 'one')), echoed(1, 'one'));
    t.strictSame(await conversation.say(echoMessage(3, 'three')), [...echoed(3, 'three'), 'end']);
  },
);
