import type { HotKeysParts } from './hot-keys.ts';
import type { ReadRefusal, Refusal } from './refusal-table.ts';
import { RuleIds } from './rule-ids.ts';

/** Reads the last refusals that the observers of all threads have recorded. */
export class LastRefusals {
  readonly #parts: HotKeysParts;
  readonly #ids: RuleIds;

  constructor(parts: HotKeysParts) {
    this.#parts = parts;
    this.#ids = new RuleIds(parts.fingerprintKey);
  }

  /**
   * The last refusals, the latest one first.
   * @param limit number of a limit in the active rules; -1 for overrides, null for all limits together
   */
  recent(count: number, limit: number | null = null): Refusal[] {
    return latest(this.#ofLimit(this.#since(Number.NEGATIVE_INFINITY), limit), count);
  }

  /** The last refusals from a time on, in milliseconds since the epoch, the latest one first. Older ones cost nothing. */
  since(timeMs: number, count: number): Refusal[] {
    return latest(this.#since(timeMs), count);
  }

  #since(timeMs: number): ReadRefusal[] {
    const { seats, clock } = this.#parts;
    const nowMs = clock.nowMs();
    return seats.all.flatMap(seat => seat.read(nowMs, () => seat.refusals.since(timeMs)));
  }

  #ofLimit(read: ReadRefusal[], limit: number | null): ReadRefusal[] {
    if (limit === null) return read;
    if (limit < 0) return read.filter(({ ruleA, ruleB }) => ruleA === 0 && ruleB === 0);
    const rules = this.#parts.rules();
    if (rules === null) return [];
    this.#ids.find(rules, limit);
    const { a, b } = this.#ids;
    return read.filter(({ ruleA, ruleB }) => ruleA === a && ruleB === b);
  }
}

function latest(read: ReadRefusal[], count: number): Refusal[] {
  return read
    .sort((a, b) => b.refusal.timeMs - a.refusal.timeMs || b.number - a.number)
    .slice(0, count)
    .map(({ refusal }) => refusal);
}
