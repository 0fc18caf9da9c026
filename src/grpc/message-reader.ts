import { gunzipSync } from 'node:zlib';
import { grownCapacity } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import { systemCode } from '../base/system-code.ts';
import { Budget } from '../http2/connection/budgets.ts';
import type { BudgetTerms } from '../http2/connection/limits.ts';
import type { HeldBytes } from './limits.ts';

/** Why a compressed message cannot be read. */
type InflationFault = 'not gzip' | 'too much inflated' | 'too large';

/**
 * How many times its compressed size a message may have at no charge. Protobuf messages shrink to a tenth at most,
 * unless they hold little but repetitions.
 */
export const FREE_RATIO = 32;

/** What all calls of a server may have inflated. */
interface InflationLimits {
  /** Longer messages are not inflated to their end. */
  readonly maxMessageBytes: number;
  /** Bytes beyond {@link FREE_RATIO} times the compressed size: a few hundred bytes can stand for megabytes. */
  readonly terms: BudgetTerms;
}

/**
 * Inflates messages that came with `grpc-encoding: gzip`. It does so at once, on the thread that has the connections:
 * nearly all messages are short, and what the others may cost is bounded by the message limit and by a budget.
 */
export class Inflater {
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #progress: { nowMs: number; readonly requests: number };
  readonly #budget: Budget;

  constructor({ maxMessageBytes, terms }: InflationLimits, clock: Clock) {
    this.#maxBytes = maxMessageBytes;
    this.#clock = clock;
    this.#progress = { nowMs: clock.nowMs(), requests: 0 };
    this.#budget = new Budget(terms, this.#progress);
  }

  /** The message that `compressed` stands for, or why there is none. */
  inflate(compressed: Uint8Array): Uint8Array | InflationFault {
    this.#progress.nowMs = this.#clock.nowMs();
    const free = compressed.length * FREE_RATIO;
    const atMost = Math.max(this.#maxBytes - free, 0);
    const isPaid = this.#budget.spend(atMost);
    // When the budget is spent, ordinary messages still come through.
    const maxOutputLength = isPaid ? this.#maxBytes : free;
    try {
      const message = gunzipSync(compressed, { maxOutputLength });
      if (isPaid) this.#budget.earn(atMost - Math.max(message.length - free, 0));
      return message;
    } catch (failure) {
      // The charge stays: the fault may have come after megabytes.
      if (systemCode(failure) !== 'ERR_BUFFER_TOO_LARGE') return 'not gzip';
      return isPaid ? 'too large' : 'too much inflated';
    }
  }
}

/** Octets before a message: the compressed flag and the length ("gRPC over HTTP2", Length-Prefixed-Message). */
export const PREFIX_BYTES = 5;

/** The least memory that a message is put together in; less would grow too often. */
const LEAST_BYTES = 1_024;

/** Why the content of a request is not one message. */
export type MessageFault =
  | InflationFault
  | 'compressed'
  | 'bad flag'
  | 'too large'
  | 'none'
  | 'incomplete'
  | 'more than one'
  | 'no room';

/** Takes the content of a request as it comes. */
export interface ContentReader {
  /** Octets that have not come yet; 0 while that is not known. */
  readonly missing: number;
  append(bytes: Uint8Array, start: number, end: number): MessageFault | null;
  /** The message, when the request ends here; or why it is none. What is returned outlives {@link dispose}. */
  finish(): Uint8Array | MessageFault;
  /** Gives the room back. */
  dispose(): void;
}

const NOTHING = new Uint8Array(0);

/**
 * Puts the one message of a request together. A message that comes in one piece is not copied: the common case, told
 * apart by {@link wholeMessage}.
 *
 * Memory grows with what has come, not with the length that was announced: announcing costs a peer nothing.
 */
export class MessageReader implements ContentReader {
  readonly #maxBytes: number;
  readonly #room: HeldBytes;
  readonly #inflater: Inflater | null;
  #isCompressed = false;
  /** Octets of the prefix that have come. */
  #prefixed = 0;
  /** Octets of the message, as far as its prefix says. */
  #length = 0;
  #bytes = NOTHING;
  #received = 0;

  /**
   * @param room what unfinished messages may hold together
   * @param inflater for calls that may have a compressed message
   */
  constructor(maxMessageBytes: number, room: HeldBytes, inflater: Inflater | null = null) {
    this.#maxBytes = maxMessageBytes;
    this.#room = room;
    this.#inflater = inflater;
  }

  get missing(): number {
    return this.#prefixed < PREFIX_BYTES ? 0 : this.#length - this.#received;
  }

  append(bytes: Uint8Array, start: number, end: number): MessageFault | null {
    let at = start;
    while (at < end && this.#prefixed < PREFIX_BYTES) {
      const octet = bytes[at++];
      if (this.#prefixed++ > 0) this.#length = this.#length * 256 + octet;
      else if (octet > 1) return 'bad flag';
      else if (octet === 1 && this.#inflater === null) return 'compressed';
      else this.#isCompressed = octet === 1;
    }
    if (this.#prefixed < PREFIX_BYTES) return null;
    if (this.#length > this.#maxBytes) return 'too large';
    const count = end - at;
    if (count > this.missing) return 'more than one';
    if (!this.#reserve(count)) return 'no room';
    this.#bytes.set(bytes.subarray(at, end), this.#received);
    this.#received += count;
    return null;
  }

  finish(): Uint8Array | MessageFault {
    if (this.#prefixed === 0) return 'none';
    if (this.#prefixed < PREFIX_BYTES || this.missing > 0) return 'incomplete';
    return this.#isCompressed && this.#inflater !== null ? this.#inflater.inflate(this.#bytes) : this.#bytes;
  }

  dispose(): void {
    this.#room.release(this.#bytes.length);
    this.#bytes = NOTHING;
  }

  #reserve(count: number): boolean {
    const needed = this.#received + count;
    const capacity = this.#bytes.length;
    if (needed <= capacity) return true;
    const wanted = Math.min(grownCapacity(Math.max(capacity, LEAST_BYTES), needed), this.#length);
    if (!this.#room.take(wanted - capacity)) return false;
    const grown = new Uint8Array(wanted);
    grown.set(this.#bytes);
    this.#bytes = grown;
    return true;
  }
}

/** Whether `bytes[start, end)` is exactly one message that is not compressed, with its prefix. */
export function wholeMessage(bytes: Uint8Array, start: number, end: number): boolean {
  return (
    end - start >= PREFIX_BYTES &&
    bytes[start] === 0 &&
    readLength(bytes, start) === end - start - PREFIX_BYTES
  );
}

function readLength(bytes: Uint8Array, start: number): number {
  return (
    ((bytes[start + 1] << 24) | (bytes[start + 2] << 16) | (bytes[start + 3] << 8) | bytes[start + 4]) >>> 0
  );
}
