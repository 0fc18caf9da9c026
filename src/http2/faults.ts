/** Error codes of RST_STREAM and GOAWAY (RFC 9113, 7). */
export const ERROR = {
  noError: 0x0,
  protocolError: 0x1,
  internalError: 0x2,
  flowControlError: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSizeError: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  connectError: 0xa,
  enhanceYourCalm: 0xb,
  inadequateSecurity: 0xc,
  http11Required: 0xd,
} as const;
export type ErrorCode = (typeof ERROR)[keyof typeof ERROR];

/**
 * What a peer did wrong, and how wide the damage is (RFC 9113, 5.4): a stream fault ends one stream with RST_STREAM, a
 * connection fault ends all with GOAWAY. Faults are returned, not thrown: a peer can cause as many as it likes.
 */
export interface Http2Fault {
  readonly scope: 'stream' | 'connection';
  readonly code: ErrorCode;
  /** Names the clause; goes into GOAWAY and the log. */
  readonly message: string;
}

export function connectionFault(code: ErrorCode, message: string): Http2Fault {
  return { scope: 'connection', code, message };
}

export function streamFault(code: ErrorCode, message: string): Http2Fault {
  return { scope: 'stream', code, message };
}

/*
 * What a peer can do wrong on a connection, made once: a fault costs no more than a return.
 */

export const ON_HALF_CLOSED = streamFault(
  ERROR.streamClosed,
  'frame on a stream that the peer has ended (RFC 9113, 5.1)',
);
export const ON_CLOSED = connectionFault(ERROR.streamClosed, 'frame on a closed stream (RFC 9113, 5.1)');
export const ON_SKIPPED = connectionFault(
  ERROR.protocolError,
  'a new stream below the highest one (RFC 9113, 5.1.1)',
);
export const ON_IDLE = connectionFault(ERROR.protocolError, 'frame on an idle stream (RFC 9113, 5.1)');
export const ON_STREAM_ZERO = connectionFault(
  ERROR.protocolError,
  'frame that needs a stream on stream 0 (RFC 9113, 6)',
);
export const NOT_ON_STREAM_ZERO = connectionFault(
  ERROR.protocolError,
  'frame of the connection on a stream (RFC 9113, 6)',
);
export const EVEN_STREAM = connectionFault(
  ERROR.protocolError,
  'a client opened an even stream (RFC 9113, 5.1.1)',
);
export const BAD_PREFACE = connectionFault(
  ERROR.protocolError,
  'the connection does not begin with the preface (RFC 9113, 3.4)',
);
export const NOT_SETTINGS_FIRST = connectionFault(
  ERROR.protocolError,
  'the first frame is not SETTINGS (RFC 9113, 3.4)',
);
export const FRAME_TOO_LONG = connectionFault(
  ERROR.frameSizeError,
  'a frame above SETTINGS_MAX_FRAME_SIZE (RFC 9113, 4.2)',
);
export const BLOCK_INTERRUPTED = connectionFault(
  ERROR.protocolError,
  'another frame inside a header section (RFC 9113, 6.10)',
);
export const STRAY_CONTINUATION = connectionFault(
  ERROR.protocolError,
  'CONTINUATION without HEADERS (RFC 9113, 6.10)',
);
export const PUSH = connectionFault(ERROR.protocolError, 'PUSH_PROMISE from a client (RFC 9113, 8.4)');
export const TRAILERS_NOT_LAST = streamFault(
  ERROR.protocolError,
  'a second header section without END_STREAM (RFC 9113, 8.1)',
);
export const STREAM_WINDOW_EXCEEDED = streamFault(
  ERROR.flowControlError,
  'more data than the window allows (RFC 9113, 6.9.1)',
);
export const WINDOW_EXCEEDED = connectionFault(
  ERROR.flowControlError,
  'more data than the window allows (RFC 9113, 6.9.1)',
);
export const STREAM_WINDOW_TOO_WIDE = streamFault(
  ERROR.flowControlError,
  'a window beyond 2^31 - 1 (RFC 9113, 6.9.1)',
);
export const WINDOW_TOO_WIDE = connectionFault(
  ERROR.flowControlError,
  'a window beyond 2^31 - 1 (RFC 9113, 6.9.1)',
);
export const WRONG_LENGTH = streamFault(
  ERROR.protocolError,
  'content of another length than content-length (RFC 9113, 8.1.1)',
);
export const REFUSED = streamFault(
  ERROR.refusedStream,
  'more streams than SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, 5.1.2)',
);
export const SLOW = connectionFault(ERROR.enhanceYourCalm, 'a frame or header section took too long to come');
const calm = (what: string): Http2Fault =>
  connectionFault(ERROR.enhanceYourCalm, `too many ${what} for the requests made`);
export const TOO_MANY_RESETS = calm('streams reset or refused');
export const TOO_MANY_CONTROLS = calm('PING, SETTINGS, PRIORITY, GOAWAY or unknown frames');
export const TOO_MANY_WINDOW_CHANGES = calm('changes of SETTINGS_INITIAL_WINDOW_SIZE');
export const TOO_MANY_IDLE_FRAMES = calm('empty DATA or WINDOW_UPDATE frames');
export const TOO_MANY_LATE_FRAMES = calm('frames on closed streams');
export const TOO_MUCH_SMALL_DATA = calm('DATA frames of a few octets');
export const TOO_MANY_LARGE_HEADERS = calm('header sections beyond SETTINGS_MAX_HEADER_LIST_SIZE');
export const TOO_MANY_FAULTS = calm('malformed requests');
export const TOO_MUCH_QUEUED = connectionFault(
  ERROR.enhanceYourCalm,
  'too many answers wait for the windows of the peer',
);
