import t from 'tap';
import { END_HEADERS } from '../../support/http2-frames.ts';
import { continuation, data, grpcMessage, headers } from '../../support/wire-frames.ts';
import {
  type Case,
  connectionError,
  echoBlock,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
} from './conversation.ts';

/*
 * RFC 9113, 6.10: CONTINUATION.
 */

const ACCEPTED: readonly Case[] = [
  {
    name: '6.10 a block in several CONTINUATION frames is accepted',
    says: [
      headers(1, echoBlock().subarray(0, 5), 0),
      continuation(1, echoBlock().subarray(5, 10)),
      continuation(1, Buffer.alloc(0)),
      continuation(1, echoBlock().subarray(10), END_HEADERS),
      echoMessage(1, 'on'),
    ],
    hears: echoed(1, 'on'),
  },
];

/** A CONTINUATION that has no place where it stands (RFC 9113, 6.10). */
const STRAY: readonly Case[] = [
  {
    name: '6.10 a frame other than CONTINUATION between the parts of a block',
    says: [
      headers(1, echoBlock().subarray(0, 5), 0),
      continuation(1, echoBlock().subarray(5, 10)),
      data(1, Buffer.from('x')),
    ],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.10 CONTINUATION on stream 0',
    says: [headers(1, echoBlock().subarray(0, 5), 0), continuation(0, echoBlock().subarray(5), END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.10 CONTINUATION on another stream',
    says: [headers(1, echoBlock().subarray(0, 5), 0), continuation(3, echoBlock().subarray(5), END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR'),
  },
  {
    name: '6.10 CONTINUATION behind HEADERS with END_HEADERS',
    says: [echoHead(1), continuation(1, echoBlock(), END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '6.10 CONTINUATION behind CONTINUATION with END_HEADERS',
    says: [
      headers(1, echoBlock().subarray(0, 5), 0),
      continuation(1, echoBlock().subarray(5), END_HEADERS),
      continuation(1, echoBlock(), END_HEADERS),
    ],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
  {
    name: '6.10 CONTINUATION behind DATA',
    says: [echoHead(1), data(1, grpcMessage('on').subarray(0, 3)), continuation(1, echoBlock(), END_HEADERS)],
    hears: connectionError('PROTOCOL_ERROR', 1),
  },
];

const serving = await serve(t);

examine(t, serving, ACCEPTED);
examine(
  t,
  serving,
  STRAY.map(each => ({ ...each, name: `${each.name} is a connection error of type PROTOCOL_ERROR` })),
);
