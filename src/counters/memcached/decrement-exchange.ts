import type { Counter } from '../../stats/registry.ts';
import { type Exchange, isError, wholeNumber } from './exchange.ts';
import type { IncrementParts } from './increment-exchange.ts';

/** Hits to take off a key. memcached stops at 0 by itself. */
export interface Refund {
  readonly key: string;
  readonly amount: number;
  /** Hits of the same batch follow for this key. */
  readonly hitsFollow: boolean;
}

/** What is counted about decrements (`ratelimit.memcache.*`). */
export interface DecrementCounters {
  readonly decremented: Counter;
  readonly decrementMissed: Counter;
  readonly decrementFailed: Counter;
}

interface DecrementParts extends Pick<IncrementParts, 'send' | 'lost'> {
  readonly counters: DecrementCounters;
}

/**
 * Takes hits off counts. A key that is not there stays absent. It may only look absent, while the hits before are still
 * making it: their `add` leaves when the answer to their `incr` has come, which is before the answer here. So a refund
 * that finds no key is sent a second time, behind that `add`; unless hits of its own batch have gone in between, because
 * those would be taken off then.
 */
export class DecrementExchange implements Exchange {
  readonly request: string;
  readonly commands: number;
  readonly #refunds: readonly Refund[];
  readonly #parts: DecrementParts;
  readonly #isSecond: boolean;
  readonly #again: Refund[] = [];
  #answered = 0;

  /** @param refunds at least one */
  constructor(refunds: readonly Refund[], parts: DecrementParts, isSecond = false) {
    this.#refunds = refunds;
    this.#parts = parts;
    this.#isSecond = isSecond;
    this.commands = refunds.length;
    this.request = refunds.map(({ key, amount }) => `decr ${key} ${wholeNumber(amount)}\r\n`).join('');
  }

  value(): void {}

  line(text: string): boolean {
    this.#answer(text, this.#refunds[this.#answered++]);
    if (this.#answered < this.#refunds.length) return false;
    if (this.#again.length > 0) this.#parts.send(new DecrementExchange(this.#again, this.#parts, true));
    return true;
  }

  failed(reason: string): void {
    this.#parts.counters.decrementFailed.add(this.#refunds.length - this.#answered);
    this.#parts.lost(reason, 'connection');
  }

  #answer(text: string, refund: Refund): void {
    const { counters, lost } = this.#parts;
    if (/^[0-9]/.test(text)) counters.decremented.add(1);
    else if (text !== 'NOT_FOUND') {
      counters.decrementFailed.add(1);
      lost(isError(text) ? text : 'it answered with something else', 'answer');
    } else if (this.#isSecond || refund.hitsFollow) counters.decrementMissed.add(1);
    else this.#again.push(refund);
  }
}
