import { DOMAIN_NOT_FOUND, NAMED_STATS, type NamedStatistics } from '../totals/named-rows.ts';
import { addTotal, ownTotals } from '../totals/shared-totals.ts';
import type { NamedDelta } from './task.ts';

/** Statistics of the names that the requests of one batch make, to be added up by the thread that keeps all of them. */
export class NamedDeltas implements NamedStatistics {
  readonly #rows = new Map<string, Int32Array>();

  rowFor(metricKey: string): Int32Array {
    let row = this.#rows.get(metricKey);
    if (row === undefined) {
      row = ownTotals(NAMED_STATS.length);
      this.#rows.set(metricKey, row);
    }
    return row;
  }

  domainNotFound(domain: string, descriptors: number): void {
    addTotal(this.rowFor(domain), DOMAIN_NOT_FOUND, descriptors);
  }

  /** All names with what was counted under them, which is forgotten here; null for none. */
  take(): readonly NamedDelta[] | null {
    if (this.#rows.size === 0) return null;
    const deltas = [...this.#rows];
    this.#rows.clear();
    return deltas;
  }
}
