import { gunzipSync } from 'node:zlib';
import { grownCapacity } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import { systemCode } from '../base/fault.ts';
import { Budget } from '../http2/connection/budgets.ts';
import type { BudgetTerms } from '../http2/connection/limits.ts';
import type { HeldBytes } from './limits.ts';

/** Why a compressed message cannot be read. */
type InflationFault = 'not gzip' | 'too much inflated' | 'too large';

/**
 * Messages up to this many times their compressed size are free. Ordinary protobuf messages compress to no less than a
 * tenth of their size.
 */
export const FREE_RATIO = 32;

/** Limits on inflating messages, for all calls of a server together. */
interface InflationLimits {
  /** Messages beyond this length are refused. */
  readonly maxMessageBytes: number;
  /**
   * Budget for bytes beyond {@link FREE_RATIO} times the compressed size: a few hundred bytes can inflate to megabytes.
   */
  readonly terms: BudgetTerms;
}

/**
 * Inflates messages of calls with `grpc-encoding: gzip`, synchronously on the thread of the connections. Nearly all
 * messages are short. The message limit and a budget bound the cost of the others.
 */
export class Inflater {
  /** Maximum length of a message, whether it is compressed or not. */
  readonly maxMessageBytes: number;
  readonly #clock: Clock;
  readonly #progress: { nowMs: number; readonly requests: number };
  readonly #budget: Budget;

  constructor({ maxMessageBytes, terms }: InflationLimits, clock: Clock) {
    this.maxMessageBytes = maxMessageBytes;
    this.#clock = clock;
    this.#progress = { nowMs: clock.nowMs(), requests: 0 };
    this.#budget = new Budget(terms, this.#progress);
  }

  /** Inflates a message, or returns why that is not possible. */
  inflate(compressed: Uint8Array): Uint8Array | InflationFault {
    this.#progress.nowMs = this.#clock.nowMs();
    const free = compressed.length * FREE_RATIO;
    const atMost = Math.max(this.maxMessageBytes - free, 0);
    const isPaid = this.#budget.spend(atMost);
    // Ordinary messages are still accepted when the budget is exhausted.
    const maxOutputLength = isPaid ? this.maxMessageBytes : free;
    try {
      const message = gunzipSync(compressed, { maxOutputLength });
      if (isPaid) this.#budget.earn(atMost - Math.max(message.length - free, 0));
      return message;
    } catch (failure) {
      // The charge stays, because megabytes may have been inflated before the failure.
      if (systemCode(failure) !== 'ERR_BUFFER_TOO_LARGE') return 'not gzip';
      return isPaid ? 'too large' : 'too much inflated';
    }
  }
}

/** Octets before a message: the compressed flag and the length ("gRPC over HTTP2", Length-Prefixed-Message). */
export const PREFIX_BYTES = 5;

/** Initial buffer for a message that arrives in parts. */
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

/** Receives the content of a request in parts. */
export interface ContentReader {
  /** Number of octets that are still missing; 0 while it is unknown. */
  readonly missing: number;
  append(bytes: Uint8Array, start: number, end: number): MessageFault | null;
  /** Call this at the end of the request. Returns the message, which stays valid after {@link dispose}, or a fault. */
  finish(): Uint8Array | MessageFault;
  /** Frees the memory. */
  dispose(): void;
}

const NOTHING = new Uint8Array(0);

/**
 * Joins the parts of the one message of a request. In the common case the message arrives in one piece and is not
 * copied, see {@link wholeMessage}.
 *
 * Memory grows with the received octets, not with the announced length, because announcing a length costs a peer
 * nothing.
 */
export class MessageReader implements ContentReader {
  readonly #maxBytes: number;
  readonly #room: HeldBytes;
  readonly #inflater: Inflater | null;
  #isCompressed = false;
  /** Number of received octets of the prefix. */
  #prefixed = 0;
  /** Length of the message as announced by the prefix, as far as it was received. */
  #length = 0;
  #bytes = NOTHING;
  #received = 0;

  /**
   * @param room limit on the memory of unfinished messages
   * @param inflater for calls whose message may be compressed; otherwise null
   */
  constructor(maxMessageBytes: number, room: HeldBytes, inflater: Inflater | null = null) {
    this.#maxBytes = maxMessageBytes;
    this.#room = room;
    this.#inflater = inflater;
  }

  get missing(): number {
    return this.#prefixed < PREFIX_BYTES ? 0 : this.#length - this.#received;
  }

  /** Number of octets up to the end of the prefix, or behind it up to the end of the message; 0 at the end. */
  get wanted(): number {
    return this.#prefixed < PREFIX_BYTES ? PREFIX_BYTES - this.#prefixed : this.missing;
  }

  /** Whether the message is compressed, as far as the prefix was received. */
  get isCompressed(): boolean {
    return this.#isCompressed;
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
    messageLength(bytes, start) === end - start - PREFIX_BYTES
  );
}

/** The length of the message whose prefix begins at `start`. */
export function messageLength(bytes: Uint8Array, start: number): number {
  return (
    ((bytes[start + 1] << 24) | (bytes[start + 2] << 16) | (bytes[start + 3] << 8) | bytes[start + 4]) >>> 0
  );
}
