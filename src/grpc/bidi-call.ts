import type { Http2Stream } from '../http2/streams/stream.ts';
import type { CallContext } from './calls.ts';
import type { HeldBytes } from './limits.ts';
import type { Inflater } from './message-reader.ts';
import { MessageSplitter } from './message-splitter.ts';
import { MESSAGE_REFUSALS, type Refusal } from './refusals.ts';
import { type BidiMethod, GRPC_STATUS, METHOD_FAILED_MESSAGE, type RequestReceiver } from './service.ts';
import { ReplyCall } from './stream-calls.ts';

/** How the messages of a call are read. */
interface Reading {
  /** Longer messages are refused. */
  readonly maxMessageBytes: number;
  /** Limit on the memory of incomplete messages. */
  readonly room: HeldBytes;
  /** For calls whose messages may be compressed; otherwise null. */
  readonly inflater: Inflater | null;
}

/**
 * A call with a stream of requests and a stream of responses. It counts as an unfinished request only while one of its
 * messages is incomplete, because the call itself may stay open for days.
 */
export class BidiCall extends ReplyCall {
  readonly #messages: MessageSplitter;
  #receiver: RequestReceiver | null = null;
  #isUnfinished = false;

  constructor(stream: Http2Stream, path: string, context: CallContext, reading: Reading) {
    super(stream, path, context);
    const { maxMessageBytes, room, inflater } = reading;
    this.#messages = new MessageSplitter(maxMessageBytes, room, inflater, (message, work) => {
      context.connection.addMessage(work);
      this.#messageEnded();
      this.run(message);
      return !this.done;
    });
    // Never null: content that ends the stream of requests is not taken for a single message either.
    this.reader = this.#messages;
  }

  /** Calls the method, which gets the messages from then on. */
  begin(method: BidiMethod): void {
    this.#attempt(() => {
      this.#receiver = method(this);
    });
  }

  /** Passes one message to the method. */
  run(message: Uint8Array): void {
    try {
      this.#receiver?.message(message);
    } catch (thrown) {
      this.#threw(thrown);
    }
  }

  /** Handles content of the stream of requests. */
  receive(bytes: Uint8Array, start: number, end: number, endStream: boolean): void {
    const fault = this.#messages.append(bytes, start, end);
    if (this.done) return;
    if (fault !== null) this.refuse(MESSAGE_REFUSALS[fault]);
    else if (endStream) this.endRequests();
    else if (this.#messages.isIncomplete) this.#await();
  }

  /** The caller has ended the stream of requests. */
  endRequests(): void {
    if (this.#messages.isIncomplete) this.refuse(MESSAGE_REFUSALS.incomplete);
    else if (!this.done) this.#attempt(() => this.#receiver?.end());
  }

  /** The call may have sent responses, so the block of a whole response does not fit. */
  override refuse({ status, message }: Refusal): void {
    this.end(status, message);
  }

  override endRequest(): void {
    this.#messages.dispose();
    this.#messageEnded();
  }

  /** Limits the time for the rest of a message, and lets all of it arrive without a pause. */
  #await(): void {
    if (!this.#isUnfinished) {
      this.#isUnfinished = true;
      this.context.requestBegan(this);
    }
    this.context.connection.expect(this.stream, this.#messages.missing);
  }

  #messageEnded(): void {
    if (!this.#isUnfinished) return;
    this.#isUnfinished = false;
    this.context.requestEnded(this);
  }

  #attempt(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.#threw(thrown);
    }
  }

  #threw(thrown: unknown): void {
    this.context.methodFailed(this, thrown);
    this.fail(GRPC_STATUS.internal, METHOD_FAILED_MESSAGE);
  }
}
