import { type ClientHttp2Stream, constants } from 'node:http2';
import { NoDecision } from './no-decision.ts';

/** A call that waits for its answer. It ends once: with the message of the answer, or with the reason for none. */
export class PendingCall {
  readonly message: Buffer;
  /** Null until the call is sent. */
  stream: ClientHttp2Stream | null = null;
  /** Whether the call was refused before. It is then not sent once more. */
  wasRefused = false;
  isEnded = false;
  readonly #deadlineMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #end: (result: Buffer | NoDecision) => void;

  /** @param end called once with the message of the answer, or the reason for none */
  constructor(message: Buffer, timeoutMs: number, end: (result: Buffer | NoDecision) => void) {
    this.message = message;
    this.#end = end;
    this.#deadlineMs = performance.now() + timeoutMs;
    // If the program was busy, timers run before sockets are read. The answer may have arrived: read it first.
    this.#timer = setTimeout(() => setImmediate(() => this.#expire(timeoutMs)), timeoutMs);
  }

  /** Time left in whole milliseconds, at least 1: the value of `grpc-timeout`. */
  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#deadlineMs - performance.now()));
  }

  end(result: Buffer | NoDecision): void {
    if (this.isEnded) return;
    this.isEnded = true;
    clearTimeout(this.#timer);
    this.#end(result);
  }

  #expire(timeoutMs: number): void {
    if (this.isEnded) return;
    this.end(new NoDecision('timeout', `The service did not answer within ${timeoutMs} ms.`));
    this.stream?.close(constants.NGHTTP2_CANCEL);
  }
}
