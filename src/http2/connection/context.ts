import type { ErrorCode } from '../faults.ts';
import type { Http2Stream } from '../streams/stream.ts';
import type { StreamTable } from '../streams/table.ts';
import type { Budgets, Progress } from './budgets.ts';
import type { ConnectionLimits } from './limits.ts';
import type { RequestHead } from './request-head.ts';
import type { Sender } from './sender.ts';

/** The layer above a connection. Its methods are called while bytes are received, in the order of the frames. */
export interface StreamHandler {
  /** A request has begun. With `endStream` it has no content. */
  request(stream: Http2Stream, head: RequestHead, endStream: boolean): void;
  /**
   * Content of the request, valid during the call. With `endStream` the request is complete, and the content may be
   * empty. Not called after the response is complete.
   */
  data(stream: Http2Stream, bytes: Uint8Array, start: number, end: number, endStream: boolean): void;
  /**
   * The stream ended before its response was complete, and not by `reset`: the peer reset it or the connection closed.
   */
  aborted(stream: Http2Stream, code: ErrorCode): void;
}

/** State that the parts of a connection share. */
export interface ConnectionContext {
  readonly limits: ConnectionLimits;
  readonly handler: StreamHandler;
  readonly progress: Progress;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly budgets: Budgets;
}
