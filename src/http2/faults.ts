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
 * A protocol error of the peer (RFC 9113, 5.4). A stream fault ends one stream with RST_STREAM, a connection fault ends
 * the connection with GOAWAY. Faults are returned, not thrown, because a peer can cause any number of them.
 */
export interface Http2Fault {
  readonly scope: 'stream' | 'connection';
  readonly code: ErrorCode;
  /** Says what is wrong and names the clause of the RFC. Sent in GOAWAY and logged. */
  readonly message: string;
}

export function connectionFault(code: ErrorCode, message: string): Http2Fault {
  return { scope: 'connection', code, message };
}

export function streamFault(code: ErrorCode, message: string): Http2Fault {
  return { scope: 'stream', code, message };
}

/** A connection fault for a peer that breaks a rule of the protocol. */
export function protocolFault(message: string): Http2Fault {
  return connectionFault(ERROR.protocolError, message);
}

/** A connection fault for a frame of a wrong length. */
export function sizeFault(message: string): Http2Fault {
  return connectionFault(ERROR.frameSizeError, message);
}

// The faults below are created once, so that returning one allocates nothing.

export const ON_HALF_CLOSED = streamFault(
  ERROR.streamClosed,
  'frame on a half-closed stream (RFC 9113, 5.1)',
);
export const ON_CLOSED = connectionFault(ERROR.streamClosed, 'frame on a closed stream (RFC 9113, 5.1)');
export const ON_SKIPPED = protocolFault(
  'a new stream with a lower identifier than an earlier one (RFC 9113, 5.1.1)',
);
export const ON_IDLE = protocolFault('frame on an idle stream (RFC 9113, 5.1)');
export const ON_STREAM_ZERO = protocolFault('stream frame on stream 0 (RFC 9113, 6)');
export const NOT_ON_STREAM_ZERO = protocolFault('connection frame on a stream other than 0 (RFC 9113, 6)');
export const EVEN_STREAM = protocolFault(
  'the client opened a stream with an even identifier (RFC 9113, 5.1.1)',
);
export const BAD_PREFACE = protocolFault('the connection does not begin with the preface (RFC 9113, 3.4)');
export const NOT_SETTINGS_FIRST = protocolFault('the first frame is not SETTINGS (RFC 9113, 3.4)');
export const FRAME_TOO_LONG = sizeFault('frame longer than SETTINGS_MAX_FRAME_SIZE (RFC 9113, 4.2)');
export const BLOCK_INTERRUPTED = protocolFault('another frame inside a header section (RFC 9113, 6.10)');
export const STRAY_CONTINUATION = protocolFault('CONTINUATION without HEADERS (RFC 9113, 6.10)');
export const PUSH = protocolFault('PUSH_PROMISE from a client (RFC 9113, 8.4)');
export const TRAILERS_NOT_LAST = streamFault(
  ERROR.protocolError,
  'a second header section without END_STREAM (RFC 9113, 8.1)',
);
export const STREAM_WINDOW_EXCEEDED = streamFault(
  ERROR.flowControlError,
  'more data than the flow-control window allows (RFC 9113, 6.9.1)',
);
export const WINDOW_EXCEEDED = connectionFault(
  ERROR.flowControlError,
  'more data than the flow-control window allows (RFC 9113, 6.9.1)',
);
export const STREAM_WINDOW_TOO_WIDE = streamFault(
  ERROR.flowControlError,
  'flow-control window above 2^31 - 1 (RFC 9113, 6.9.1)',
);
export const WINDOW_TOO_WIDE = connectionFault(
  ERROR.flowControlError,
  'flow-control window above 2^31 - 1 (RFC 9113, 6.9.1)',
);
export const WRONG_LENGTH = streamFault(
  ERROR.protocolError,
  'the length of the content differs from content-length (RFC 9113, 8.1.1)',
);
export const REFUSED = streamFault(
  ERROR.refusedStream,
  'more streams than SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, 5.1.2)',
);
export const SLOW = connectionFault(
  ERROR.enhanceYourCalm,
  'timed out waiting for the rest of a frame or header section',
);
const calm = (what: string): Http2Fault =>
  connectionFault(ERROR.enhanceYourCalm, `too many ${what} for the number of requests`);
export const TOO_MANY_RESETS = calm('reset or refused streams');
export const TOO_MANY_CONTROLS = calm('PING, SETTINGS, PRIORITY, GOAWAY or unknown frames');
export const TOO_MANY_WINDOW_CHANGES = calm('changes of SETTINGS_INITIAL_WINDOW_SIZE');
export const TOO_MANY_IDLE_FRAMES = calm('empty DATA or WINDOW_UPDATE frames');
export const TOO_MANY_LATE_FRAMES = calm('frames on closed streams');
export const TOO_MUCH_SMALL_DATA = calm('very small DATA frames');
export const TOO_MANY_LARGE_HEADERS = calm('header sections beyond SETTINGS_MAX_HEADER_LIST_SIZE');
export const TOO_MANY_FAULTS = calm('malformed requests');
export const TOO_MUCH_QUEUED = connectionFault(
  ERROR.enhanceYourCalm,
  'too many response bytes are waiting for the flow-control windows of the peer',
);
