import { grownCapacity } from '../../base/bytes.ts';
import type { Answer } from './answer.ts';
import { CHUNKS_TOO_SMALL, hasTooManyChunks } from './chunk-bound.ts';
import type { Exchange } from './exchange.ts';
import { errorAnswer } from './status.ts';
import { bodyWork, pieceWork, READ_WORK } from './turns.ts';

/** The largest body that is read, and what is said about a larger one: an answer with 413. */
interface BodyBound {
  readonly bytes: number;
  tooLarge(): Answer;
}

/** The largest `/json` body that is read: what gRPC accepts by default as a message, far more than any proxy sends. */
const DECISION_BYTES = 4 * 1024 * 1024;

const DECISION_TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: `the body is larger than ${DECISION_BYTES} bytes: send fewer descriptors in one request`,
});

const DECISION_BOUND: BodyBound = { bytes: DECISION_BYTES, tooLarge: () => DECISION_TOO_LARGE };

/**
 * A body beyond its bound is still received, and dropped, up to so many times the bound: a caller that is still
 * sending when the connection closes gets a reset and never sees the answer. Beyond this the connection is closed
 * anyway.
 */
const DROPPED_UP_TO = 4;

/** Initial capacity of the buffer for a body that arrives in pieces. */
const LEAST_CAPACITY = 16 * 1024;

/**
 * Reads the body of a request and passes it to `whole`, where it is valid during the call. A body that arrived in one
 * piece, as nearly all do, is passed on without a copy. A body that is too large is answered here with 413. A body that
 * is discarded to free memory (`HeldMemory`) is answered with 503.
 */
export function readBody(
  exchange: Exchange,
  whole: (body: Uint8Array) => void,
  bound: BodyBound = DECISION_BOUND,
): void {
  if (exchange.bodyBytes !== null && exchange.bodyBytes > bound.bytes) {
    exchange.refuseBody(bound.tooLarge(), DROPPED_UP_TO * bound.bytes);
    return;
  }
  let received = 0;
  let count = 0;
  let pieces: BodyPieces | null = null;
  let readsLater = false;
  exchange.onChunk((chunk, last) => {
    received += chunk.length;
    if (exchange.bodyBytes === null && hasTooManyChunks(++count, received)) {
      exchange.release();
      exchange.refuseBody(CHUNKS_TOO_SMALL, 0);
      return;
    }
    if (received > bound.bytes) {
      exchange.release();
      if (last) exchange.answer(bound.tooLarge());
      else if (received > DROPPED_UP_TO * bound.bytes) exchange.answer(bound.tooLarge(), 'close');
      return;
    }
    const work = last ? bodyWork(received) : pieceWork(chunk.length);
    const now = exchange.hasTurn(work);
    if (now && last && pieces === null) {
      whole(chunk);
      return;
    }
    pieces ??= new BodyPieces(exchange, bound.bytes);
    if (!pieces.add(chunk, last)) return;
    if (!last) {
      // One read may contain thousands of small chunks. All of them share one wait for a turn.
      if (now || readsLater) return;
      readsLater = true;
      exchange.waitForTurn(READ_WORK, () => {
        readsLater = false;
      });
    } else if (now) pieces.handTo(whole);
    else exchange.waitForTurn(work, () => pieces?.handTo(whole));
  });
}

/** A body that arrives in pieces. */
class BodyPieces {
  readonly #exchange: Exchange;
  readonly #max: number;
  #buffer = new ArrayBuffer(0);
  #length = 0;
  #freed = false;

  constructor(exchange: Exchange, maxBytes: number) {
    this.#exchange = exchange;
    this.#max = maxBytes;
  }

  /** Returns false if memory ran short and the body was discarded. */
  add(chunk: Uint8Array, last: boolean): boolean {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.byteLength && !this.#grow(needed, last)) return false;
    new Uint8Array(this.#buffer).set(chunk, this.#length);
    this.#length = needed;
    return true;
  }

  /** Passes on the whole body, then releases its memory. */
  handTo(whole: (body: Uint8Array) => void): void {
    whole(new Uint8Array(this.#buffer, 0, this.#length));
    this.#exchange.release();
  }

  #grow(needed: number, last: boolean): boolean {
    const before = this.#buffer.byteLength;
    const doubled = grownCapacity(Math.max(before, LEAST_CAPACITY), needed);
    const capacity = last ? needed : Math.min(doubled, this.#max);
    this.#freed = false;
    this.#exchange.hold(capacity - before, this.#free);
    if (this.#freed) return false;
    this.#buffer = this.#buffer.transfer(capacity);
    return true;
  }

  /** Releases the memory immediately. The garbage collector would keep it for minutes after a flood. */
  readonly #free = (): void => {
    this.#freed = true;
    this.#length = 0;
    this.#buffer = this.#buffer.transfer(0);
  };
}
