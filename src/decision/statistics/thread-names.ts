import {
  DOMAIN_NOT_FOUND,
  NAMED_STATS,
  type NameBounds,
  NamedRows,
  type NamedStatistics,
} from './named-rows.ts';
import { NAME_BOUNDS, type NamedReport } from './rule-statistics.ts';
import { addTotal, ownTotals, takeTotal } from './shared-totals.ts';

/** Limits for the names of one thread. Reports empty the totals, so only the names since the last report have to fit. */
const THREAD_NAME_BOUNDS: NameBounds = { ...NAME_BOUNDS, bytes: 4 * 1024 * 1024 };

/** Number of names in one report. Adding a larger one would delay other work of the primary thread. */
export const NAMES_AT_ONCE = 512;

/**
 * Counts under names made from request values, in a thread that reports them to the primary thread
 * (`RuleStatistics.addReport`). The memory is limited as in the primary thread: names that are used least are dropped,
 * and their hits are counted.
 */
export class ThreadNames implements NamedStatistics {
  readonly #rows: NamedRows;
  #reported = { namesDropped: 0, hitsDropped: 0 };

  constructor(bounds: NameBounds = THREAD_NAME_BOUNDS) {
    this.#rows = new NamedRows(bounds);
  }

  rowFor(metricKey: string): Int32Array {
    return this.#rows.row(metricKey);
  }

  domainNotFound(domain: string, descriptors: number): void {
    addTotal(this.#rows.row(domain), DOMAIN_NOT_FOUND, descriptors);
  }

  /**
   * Removes and returns what was counted, in several reports if there are many names. Other work may run between them.
   * Rows stay, because batches in flight count there later.
   */
  *take(): Iterable<NamedReport> {
    const entries = this.#rows.entries();
    for (let at = 0; at < entries.length; at += NAMES_AT_ONCE) {
      const used = entries.slice(at, at + NAMES_AT_ONCE).filter(([, row]) => isUsed(row));
      if (used.length > 0) yield this.#report(used);
    }
    const { namesDropped, hitsDropped } = this.#rows;
    const reported = this.#reported;
    if (namesDropped !== reported.namesDropped || hitsDropped !== reported.hitsDropped)
      yield this.#report([]);
  }

  #report(rows: readonly (readonly [name: string, row: Int32Array])[]): NamedReport {
    // One array for all names: threads exchange many small ones slowly.
    const totals = ownTotals(rows.length * NAMED_STATS.length);
    for (const [i, [, row]] of rows.entries()) {
      for (let stat = 0; stat < NAMED_STATS.length; stat++) {
        addTotal(totals, i * NAMED_STATS.length + stat, takeTotal(row, stat));
      }
    }
    const before = this.#reported;
    const { namesDropped, hitsDropped } = this.#rows;
    this.#reported = { namesDropped, hitsDropped };
    return {
      names: rows.map(([name]) => name),
      totals,
      namesDropped: namesDropped - before.namesDropped,
      hitsDropped: hitsDropped - before.hitsDropped,
    };
  }
}

/** A loop, because there may be ten thousand rows, and `some` calls a function for each word. */
function isUsed(row: Int32Array): boolean {
  for (let word = 0; word < row.length; word++) if (row[word] !== 0) return true;
  return false;
}
