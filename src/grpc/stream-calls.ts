import type { Http2Stream } from '../http2/streams/stream.ts';
import { ANSWER_HEAD, failureBlock, OK_TRAILERS, trailersBlock } from './blocks.ts';
import { Call, type CallContext, NOT_READ, prefixOf } from './calls.ts';
import { GRPC_STATUS, type GrpcStatus, type ReplyStream, type StreamMethod } from './service.ts';

/** A call with a stream of responses. */
export abstract class ReplyCall extends Call implements ReplyStream {
  #begun = false;
  #listeners: (() => void)[] = [];

  get peer(): string {
    return this.context.peer;
  }

  send(response: Uint8Array): void {
    if (this.done) return;
    const { context, stream } = this;
    if (stream.queuedBytes > context.maxStreamQueuedBytes || !context.hasRoom()) {
      this.end(GRPC_STATUS.resourceExhausted, NOT_READ);
      return;
    }
    if (!this.#begun) context.connection.sendHead(stream, ANSWER_HEAD);
    this.#begun = true;
    context.connection.sendData(stream, response, prefixOf(response));
    context.wrote();
  }

  end(status: GrpcStatus, message: string): void {
    if (this.done) return;
    this.close();
    this.context.connection.end(this.stream, this.#lastBlock(status, message));
    this.context.wrote();
  }

  fail(status: GrpcStatus, message: string): void {
    this.end(status, message);
  }

  onClose(listener: () => void): void {
    if (this.done) listener();
    else this.#listeners.push(listener);
  }

  override close(): void {
    super.close();
    for (const listener of this.#listeners.splice(0)) {
      try {
        listener();
      } catch (thrown) {
        this.context.methodFailed(this, thrown);
      }
    }
  }

  #lastBlock(status: GrpcStatus, message: string): Uint8Array {
    if (!this.#begun) return failureBlock(status, message);
    return status === GRPC_STATUS.ok ? OK_TRAILERS : trailersBlock(status, message);
  }
}

/** A call with one request and a stream of responses. */
export class StreamCall extends ReplyCall {
  readonly #method: StreamMethod;

  constructor(stream: Http2Stream, path: string, context: CallContext, method: StreamMethod) {
    super(stream, path, context);
    this.#method = method;
  }

  run(message: Uint8Array): void {
    this.#method(message, this);
  }
}
