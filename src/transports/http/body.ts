import { grownCapacity } from '../../base/bytes.ts';
import { type Answer, errorAnswer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { bodyWork, pieceWork, READ_WORK } from './request-turns.ts';

/** Maximum size of a body, and the answer (413) to a larger one. */
interface BodyLimit {
  readonly bytes: number;
  readonly tooLarge: Answer;
}

/** Maximum size of a `/json` body: the default limit of gRPC messages, far more than any proxy sends. */
const DECISION_BYTES = 4 * 1024 * 1024;

const DECISION_TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: `the body is larger than ${DECISION_BYTES} bytes: send fewer descriptors in one request`,
});

const DECISION_LIMIT: BodyLimit = { bytes: DECISION_BYTES, tooLarge: DECISION_TOO_LARGE };

/**
 * A body above the limit is still received and discarded, up to this multiple of the limit. If the connection closed
 * while the caller is sending, the caller would get a reset and never see the answer. Above this multiple the
 * connection is closed anyway.
 */
export const DROPPED_UP_TO = 4;

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
  limit: BodyLimit = DECISION_LIMIT,
): void {
  if (exchange.bodyBytes !== null && exchange.bodyBytes > limit.bytes) {
    exchange.refuseBody(limit.tooLarge, DROPPED_UP_TO * limit.bytes);
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
    if (received > limit.bytes) {
      exchange.release();
      if (last) exchange.answer(limit.tooLarge);
      else if (received > DROPPED_UP_TO * limit.bytes) exchange.answer(limit.tooLarge, 'close');
      return;
    }
    const work = last ? bodyWork(received) : pieceWork(chunk.length);
    const now = exchange.hasTurn(work);
    if (now && last && pieces === null) {
      whole(chunk);
      return;
    }
    pieces ??= new BodyPieces(exchange, limit.bytes);
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

/**
 * A chunked body may have `FREE_CHUNKS` chunks, and one more for each `LEAST_CHUNK_BYTES` bytes. A chunk of one byte
 * costs as much as a hundred bytes of a larger chunk.
 */
const FREE_CHUNKS = 256;
export const LEAST_CHUNK_BYTES = 16;

/** Some chunks arrive in two parts, because a read ends within them. Each part counts as a chunk. */
const LEAST_PART_BYTES = LEAST_CHUNK_BYTES - 1;

/** Whether a chunked body of `bytes` bytes arrived in more chunks than allowed. */
export function hasTooManyChunks(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS + bytes / LEAST_PART_BYTES;
}

/** The answer to a body in too many chunks. The connection is closed after it. */
export const CHUNKS_TOO_SMALL = errorAnswer({
  code: 'bad_request',
  message: `the chunks of the body are too small: send ${LEAST_CHUNK_BYTES} bytes or more in each`,
});

/**
 * Chunks are joined into buffers, because each piece of a body costs work in every thread that it passes. A buffer is as
 * large as the part of the body before it, within these bounds.
 */
const MIN_JOINED_BYTES = 16 * 1024;
const MAX_JOINED_BYTES = 512 * 1024;

/** The chunks of a body, copied into separate memory that can be transferred to another thread. */
export class KeptPieces {
  #pieces: Uint8Array[] = [];
  /** The last piece, which may have room for more. */
  #joined = new Uint8Array(0);
  #filled = 0;
  /** Number of bytes in all pieces. */
  #bytes = 0;

  /**
   * Keeps a copy of `chunk`. Returns the number of bytes allocated for it.
   *
   * @param toCome maximum number of bytes that follow
   */
  add(chunk: Uint8Array, toCome: number): number {
    const fitting = chunk.subarray(0, this.#joined.length - this.#filled);
    this.#joined.set(fitting, this.#filled);
    this.#filled += fitting.length;
    const rest = chunk.subarray(fitting.length);
    const nextSize = Math.min(this.#nextSize, rest.length + toCome);
    this.#bytes += chunk.length;
    if (rest.length === 0) return 0;
    const size = Math.max(rest.length, nextSize);
    this.#joined = new Uint8Array(size);
    this.#joined.set(rest);
    this.#filled = rest.length;
    this.#pieces.push(this.#joined);
    return size;
  }

  /** Returns the pieces and clears this object. */
  take(): Uint8Array[] {
    const pieces = this.#pieces;
    if (this.#filled < this.#joined.length) pieces[pieces.length - 1] = this.#joined.slice(0, this.#filled);
    this.#pieces = [];
    this.#joined = new Uint8Array(0);
    this.#filled = 0;
    this.#bytes = 0;
    return pieces;
  }

  /** Nearly all bodies arrive in one chunk, so the first piece has no room for more. */
  get #nextSize(): number {
    if (this.#bytes === 0) return 0;
    return Math.min(Math.max(this.#bytes, MIN_JOINED_BYTES), MAX_JOINED_BYTES);
  }
}
