import type { Answer } from './answer.ts';
import { CHUNKS_TOO_SMALL, hasTooManyChunks } from './body.ts';
import type { Exchange } from './exchange.ts';

/** A longer body is not received before the answer: its connection is closed instead. */
const RECEIVED_BYTES = 1024 * 1024;

/**
 * A body that says nothing about the answer. It is discarded while it arrives. An answer that is ready before the end of the
 * body has to wait for it, or to close the connection: what is still to come would be read as another request.
 */
export class IgnoredBody {
  readonly #exchange: Exchange;
  #isComplete = false;
  #received = 0;
  #chunks = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.onChunk((chunk, last) => this.#take(chunk, last));
  }

  /** Whether the whole body has arrived. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  answer(answer: Answer): void {
    if (this.#isComplete) this.#exchange.answer(answer);
    else this.#exchange.refuseBody(answer, RECEIVED_BYTES);
  }

  #take(chunk: Uint8Array, last: boolean): void {
    this.#isComplete = last;
    this.#received += chunk.length;
    const isChunked = this.#exchange.bodyBytes === null;
    if (isChunked && hasTooManyChunks(++this.#chunks, this.#received))
      this.#exchange.refuseBody(CHUNKS_TOO_SMALL, 0);
  }
}
