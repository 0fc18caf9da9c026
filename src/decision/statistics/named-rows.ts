import { LRUCache } from 'lru-cache';
import { RULE_STAT, RULE_STATS, sanitiseStatName } from '../../stats/names.ts';
import { ownTotals, totalOf } from './shared-totals.ts';

/** The statistics of a name, in the order of their slots: those of a rule, and that of an unknown domain. */
export const NAMED_STATS = [...RULE_STATS, 'domain_not_found'] as const;

/** Slot of the number of descriptors with an unknown domain. */
export const DOMAIN_NOT_FOUND = RULE_STATS.length;

/**
 * Used in place of a metric key for hits without a name of their own. It cannot collide with a metric key, because
 * domains, and therefore metric keys, are never empty.
 */
export const NO_NAME = '';

/** Counts under names made from request values. */
export interface NamedStatistics {
  /** The totals (in the order of {@link NAMED_STATS}) of an unsanitized metric key made from request values. */
  rowFor(metricKey: string): Int32Array;
  /** Counts descriptors with an unknown domain. */
  domainNotFound(domain: string, descriptors: number): void;
}

/** Discards what is counted under names made from request values. */
export function discardedNames(): NamedStatistics {
  const row = ownTotals(NAMED_STATS.length);
  return { rowFor: () => row, domainNotFound: () => {} };
}

/** The limits of a {@link NamedRows}. */
export interface NameBounds {
  /** Maximum memory for all names and their rows. */
  readonly bytes: number;
  /** Maximum length of a name in UTF-8. Longer names are not kept. */
  readonly nameBytes: number;
}

/** Approximate memory of a name without its text, in bytes. */
export const NAME_OVERHEAD_BYTES = 256;

/**
 * Rows of statistics (see `shared-totals.ts`) by name, for names that callers choose. The memory is limited: the least
 * recently used name is evicted. An evicted name that is used again starts at 0.
 */
export class NamedRows {
  readonly #bounds: NameBounds;
  readonly #rows: LRUCache<string, Int32Array>;
  /** The row for names that are too long, and for hits without a name. */
  readonly #unkept = newRow();
  #evictedHits = 0;
  /** Number of evicted names, and of uses of names that were too long or not created. */
  namesDropped = 0;

  constructor(bounds: NameBounds) {
    this.#bounds = bounds;
    this.#rows = new LRUCache({
      maxSize: bounds.bytes,
      sizeCalculation: (_row, name) => Buffer.byteLength(name) + NAME_OVERHEAD_BYTES,
      dispose: (row, _name, reason) => {
        if (reason === 'evict') this.#evicted(row);
      },
    });
  }

  /** Number of hits, and of descriptors with unknown domains, under names that were evicted or not kept. */
  get hitsDropped(): number {
    return this.#evictedHits + hitsOf(this.#unkept);
  }

  /** The row of an unsanitized domain or metric key; created on first use. */
  row(key: string): Int32Array {
    // Checked before sanitizing, which is linear in the length. No text has fewer bytes than UTF-16 units.
    if (key === NO_NAME || key.length > this.#bounds.nameBytes) return this.#unnamed();
    const name = sanitiseStatName(key);
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    if (Buffer.byteLength(name) > this.#bounds.nameBytes) return this.#unnamed();
    const row = newRow();
    this.#rows.set(name, row);
    return row;
  }

  /** The row of a sanitized name, if there is one. Does not count as use. */
  peek(name: string): Int32Array | undefined {
    return this.#rows.peek(name);
  }

  /** A copy of all names and rows: the order of an iterator would change with each use. */
  entries(): readonly (readonly [name: string, row: Int32Array])[] {
    return [...this.#rows.entries()];
  }

  #unnamed(): Int32Array {
    this.namesDropped++;
    return this.#unkept;
  }

  /** Decisions in progress may still use the row, but they have already counted their hits. */
  #evicted(row: Int32Array): void {
    if (row.every(word => word === 0)) return;
    this.namesDropped++;
    this.#evictedHits += hitsOf(row);
    // A reader may still have the row, and must not report these hits again.
    row.fill(0);
  }
}

function newRow(): Int32Array {
  return ownTotals(NAMED_STATS.length);
}

function hitsOf(row: Int32Array): number {
  return totalOf(row, RULE_STAT.totalHits) + totalOf(row, DOMAIN_NOT_FOUND);
}
