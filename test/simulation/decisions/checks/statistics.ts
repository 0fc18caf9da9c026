import { RULE_PREFIX } from '../../../../src/stats/names.ts';
import type { World } from '../world/world.ts';
import type { Report } from './violations.ts';

/** What the statistics of rules must be, if every batch has its answers. */
export class ExpectedStatistics {
  readonly #totals = new Map<string, number>();
  /** Why nobody can say what they are; null if they can be said. */
  doubt: string | null = null;

  readonly count = (metric: string, statistic: string, hits: number): void => {
    if (hits === 0) return;
    const name = `${metric}.${statistic}`;
    this.#totals.set(name, (this.#totals.get(name) ?? 0) + hits);
  };

  /** Compares them with those of all instances together. Statistics of leases are not looked at. */
  finish({ lives, history }: World, report: Report): void {
    if (this.doubt !== null) return;
    const counted = new Map<string, number>();
    const sources = history.store === 'threads' ? lives.slice(0, 1) : lives;
    for (const [name, total] of sources.flatMap(({ stats }) => [...stats.counters()])) {
      const own = name.slice(RULE_PREFIX.length);
      if (name.startsWith(RULE_PREFIX)) counted.set(own, (counted.get(own) ?? 0) + total);
    }
    for (const name of new Set([...this.#totals.keys(), ...counted.keys()])) {
      if (IS_OF_LEASES.test(name)) continue;
      const [expected, found] = [this.#totals.get(name) ?? 0, counted.get(name) ?? 0];
      if (expected !== found) report('statistics add up', `${name} is ${found}, not ${expected}`);
    }
  }
}

const IS_OF_LEASES = /\.(held|settled|expired|overdrawn)\.|^d\.(slots|budget)/;
