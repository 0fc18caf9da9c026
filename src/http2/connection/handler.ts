import type { ErrorCode } from '../faults.ts';
import type { Http2Stream } from '../streams/stream.ts';
import type { RequestHead } from './request-head.ts';

/** What a connection tells the layer above. Calls come while bytes are received, in the order of the frames. */
export interface StreamHandler {
  /** A request has begun. With `endStream` nothing follows. */
  request(stream: Http2Stream, head: RequestHead, endStream: boolean): void;
  /**
   * Bytes of the request's content, valid during the call. With `endStream` they are the last; then they may be none.
   * Not called once the answer is complete.
   */
  data(stream: Http2Stream, bytes: Uint8Array, start: number, end: number, endStream: boolean): void;
  /** The stream is gone before its answer was: reset, or its connection is closed. Not called for what `reset` asked for. */
  aborted(stream: Http2Stream, code: ErrorCode): void;
}
