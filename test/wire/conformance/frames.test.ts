import t from 'tap';
import { END_BOTH, END_HEADERS, END_STREAM } from '../../support/http2-frames.ts';
import { continuation, frame, headers, ping, priority, TYPE } from '../../support/wire-frames.ts';
import {
  connectionErrors,
  echoBlock,
  echoCall,
  echoed,
  echoHead,
  echoMessage,
  examine,
  serve,
} from './conversation.ts';

/*
 * RFC 9113, 4 and 5.5: what frames are, how long they may be, and those that nobody knows.
 */

/** Raises the reserved bit before the stream of a frame. */
function withReservedBit(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  changed[5] |= 0x80;
  return changed;
}

/** A frame of 2^14 octets, the longest that the server accepts, or of one more. */
const longest = (type: number, flags: number, stream: number, more = 0): Buffer =>
  frame(type, flags, stream, Buffer.alloc(16_384 + more));

const serving = await serve(t);

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 1], {
  '4.2 DATA beyond SETTINGS_MAX_FRAME_SIZE': [echoHead(1), longest(TYPE.data, END_STREAM, 1, 1)],
});

connectionErrors(t, serving, ['FRAME_SIZE_ERROR', 0], {
  '4.2 HEADERS beyond SETTINGS_MAX_FRAME_SIZE': [longest(TYPE.headers, END_BOTH, 1, 1)],
  '4.2 CONTINUATION beyond SETTINGS_MAX_FRAME_SIZE': [
    echoHead(1, 0),
    longest(TYPE.continuation, END_HEADERS, 1, 1),
  ],
  '4.2 SETTINGS beyond SETTINGS_MAX_FRAME_SIZE': [longest(TYPE.settings, 0, 0, 2)],
  '4.2 a frame of an unknown type beyond SETTINGS_MAX_FRAME_SIZE': [longest(0x16, 0, 0, 1)],
});

connectionErrors(t, serving, ['COMPRESSION_ERROR', 0], {
  '4.3 a block that cannot be decoded': [headers(1, Buffer.from('\x00\x00\x04\x01', 'latin1'))],
});

connectionErrors(t, serving, ['PROTOCOL_ERROR', 0], {
  '4.3 and 6.2 PRIORITY between the parts of a block': [
    echoHead(1, 0),
    priority(1),
    continuation(1, Buffer.alloc(0), END_HEADERS),
  ],
  '4.3 and 6.2 HEADERS of another stream between the parts of a block': [echoHead(1, 0), echoHead(3)],
  '5.5 an extension frame in the middle of a block': [
    echoHead(1, 0),
    frame(0x16, 0, 0, Buffer.alloc(8)),
    continuation(1, Buffer.alloc(0), END_HEADERS),
  ],
});

examine(t, serving, {
  '4.1 a frame of an unknown type is ignored': [
    [frame(0x16, 0, 0, Buffer.from('whatever')), frame(0xff, 0xff, 7, Buffer.alloc(40))],
    [],
  ],
  '4.1 a flag that its type does not have is ignored': [
    [frame(TYPE.ping, 0x16, 0, Buffer.from('flagged!'))],
    ['PING ack flagged!'],
  ],
  '4.1 the reserved bit is ignored': [
    [withReservedBit(ping('reserved')), withReservedBit(echoHead(1)), withReservedBit(echoMessage(1, 'on'))],
    ['PING ack reserved', ...echoed(1, 'on')],
  ],
  '4.2 DATA of 2^14 octets is accepted': [
    [echoHead(1), echoMessage(1, 'x'.repeat(16_384 - 5))],
    ['HEADERS 1 200/-', 'DATA 1 16384 octets', 'HEADERS 1 -/0 END_STREAM'],
  ],
  '4.2 a frame of an unknown type may have 2^14 octets as well': [[longest(0x16, 0, 0)], []],
  '4.3 a block of a malformed request is decoded, so that later ones can refer to it': [
    [
      // A literal with incremental indexing, and then the entry that it became (RFC 7541, 6.2.1 and 6.1).
      headers(1, Buffer.concat([Buffer.from('\x40\x06x-kept\x01a', 'latin1')]), END_BOTH),
      headers(3, Buffer.concat([echoBlock(), Buffer.of(0x80 | 62)])),
      echoMessage(3, 'on'),
    ],
    ['RST_STREAM 1 PROTOCOL_ERROR', ...echoed(3, 'on')],
  ],
  '5.5 an extension frame on a stream is ignored': [
    [echoHead(1), frame(0x16, 0, 1, Buffer.alloc(8)), echoMessage(1, 'on')],
    echoed(1, 'on'),
  ],
  '5.5 an extension frame of a connection that is at work is ignored': [
    [echoCall(1, 'one'), frame(0x16, 0, 0), echoCall(3, 'two')],
    [...echoed(1, 'one'), ...echoed(3, 'two')],
  ],
});
