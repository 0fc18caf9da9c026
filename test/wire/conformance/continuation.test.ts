import t from 'tap';
import { END_HEADERS } from '../../support/http2-frames.ts';
import { continuation, data, grpcMessage, headers } from '../../support/wire-frames.ts';
import { accepted, connectionErrors, echoBlock, echoHead, echoMessage, serve } from './conversation.ts';

/*
 * RFC 9113, 6.10: CONTINUATION.
 */

const BLOCK = echoBlock();
const [FIRST, SECOND, REST] = [BLOCK.subarray(0, 5), BLOCK.subarray(5, 10), BLOCK.subarray(10)];

const serving = await serve(t);

accepted(t, serving, {
  '6.10 a block in several CONTINUATION frames': [
    headers(1, FIRST, 0),
    continuation(1, SECOND),
    continuation(1, Buffer.alloc(0)),
    continuation(1, REST, END_HEADERS),
    echoMessage(1, 'on'),
  ],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '6.10 a frame other than CONTINUATION between the parts of a block': [
    headers(1, FIRST, 0),
    continuation(1, SECOND),
    data(1, Buffer.from('x')),
  ],
  '6.10 CONTINUATION on stream 0': [headers(1, FIRST, 0), continuation(0, BLOCK.subarray(5), END_HEADERS)],
  '6.10 CONTINUATION on another stream': [
    headers(1, FIRST, 0),
    continuation(3, BLOCK.subarray(5), END_HEADERS),
  ],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 1], {
  '6.10 CONTINUATION behind HEADERS with END_HEADERS': [echoHead(1), continuation(1, BLOCK, END_HEADERS)],
  '6.10 CONTINUATION behind CONTINUATION with END_HEADERS': [
    headers(1, FIRST, 0),
    continuation(1, BLOCK.subarray(5), END_HEADERS),
    continuation(1, BLOCK, END_HEADERS),
  ],
  '6.10 CONTINUATION behind DATA': [
    echoHead(1),
    data(1, grpcMessage('on').subarray(0, 3)),
    continuation(1, BLOCK, END_HEADERS),
  ],
});
