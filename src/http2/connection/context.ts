import type { ErrorCode } from '../faults.ts';
import type { Http2Stream } from '../streams/stream.ts';
import type { StreamTable } from '../streams/table.ts';
import type { Budgets, Progress } from './budgets.ts';
import type { ConnectionLimits } from './limits.ts';
import type { RequestHead } from './request-head.ts';
import type { Sender } from './sender.ts';

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

/** What the parts of a connection share. */
export interface ConnectionContext {
  readonly limits: ConnectionLimits;
  readonly handler: StreamHandler;
  readonly progress: Progress;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly budgets: Budgets;
}
