import { gunzipSync } from 'node:zlib';
import type { Clock } from '../base/clock.ts';
import { systemCode } from '../base/system-code.ts';
import { Budget } from '../http2/connection/budgets.ts';
import type { BudgetTerms } from '../http2/connection/limits.ts';

/** Why a compressed message cannot be read. */
export type InflationFault = 'not gzip' | 'too much inflated' | 'too large';

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
