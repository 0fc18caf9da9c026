import type { ErrorCode } from './error-code.ts';

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
