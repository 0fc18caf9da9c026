import { LRUCache } from 'lru-cache';
import { RULE_STAT, RULE_STATS, sanitiseStatName } from '../../stats/names.ts';
import { ownTotals, totalOf } from './shared-totals.ts';

/** The statistics of a name: those of a rule, and the one of an unknown domain. In the order of their slots. */
export const NAMED_STATS = [...RULE_STATS, 'domain_not_found'] as const;

/** Slot of the descriptors that came with an unknown domain. */
export const DOMAIN_NOT_FOUND = RULE_STATS.length;

/**
 * Used in place of a metric key for hits without a name of their own. It cannot collide with a metric key, because
 * domains, and therefore metric keys, are never empty.
 */
export const NO_NAME = '';

/** Where hits are counted under names that requests make. */
export interface NamedStatistics {
  /** The totals (in the order of {@link NAMED_STATS}) for a metric key made from request values, not yet sanitised. */
  rowFor(metricKey: string): Int32Array;
  /** Counts descriptors that came with an unknown domain. */
  domainNotFound(domain: string, descriptors: number): void;
}

/** How much a {@link NamedRows} keeps. */
export interface NameBounds {
  /** Of all names with what is kept beside them. */
  readonly bytes: number;
  /** Of one name, in UTF-8. Longer names are not kept. */
  readonly nameBytes: number;
}

/** What a name takes beside its text: the row, and its place in the map and the list of the cache. */
export const NAME_OVERHEAD_BYTES = 256;

/**
 * Rows of statistics by name (totals as in `shared-totals.ts`), where the names come from outside and may be as many as somebody likes. Bounded by bytes:
 * when there are too many, the name that was used longest ago lets go. A name that comes again begins at 0.
 */
export class NamedRows {
  readonly #bounds: NameBounds;
  readonly #rows: LRUCache<string, Int32Array>;
  /** Receives the statistics of names that are too long, and of hits without a name. */
  readonly #unkept = newRow();
  #hitsLetGo = 0;
  /** Number of evicted names, and of uses of names that were too long or not created. */
  namesDropped = 0;

  constructor(bounds: NameBounds) {
    this.#bounds = bounds;
    this.#rows = new LRUCache({
      maxSize: bounds.bytes,
      sizeCalculation: (_row, name) => Buffer.byteLength(name) + NAME_OVERHEAD_BYTES,
      dispose: (row, _name, reason) => {
        if (reason === 'evict') this.#letGo(row);
      },
    });
  }

  /** Hits of the names that are not kept, and descriptors with unknown domains that are not. */
  get hitsDropped(): number {
    return this.#hitsLetGo + hitsOf(this.#unkept);
  }

  /** The row of a domain or metric key as it came, before sanitising; made on first use. */
  row(key: string): Int32Array {
    // Asked before sanitising, which takes time with the length. No text has fewer bytes than UTF-16 units.
    if (key === NO_NAME || key.length > this.#bounds.nameBytes) return this.#unnamed();
    const name = sanitiseStatName(key);
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    if (Buffer.byteLength(name) > this.#bounds.nameBytes) return this.#unnamed();
    const row = newRow();
    this.#rows.set(name, row);
    return row;
  }

  /** The row of a sanitised name, if it has one. Does not count as use. */
  peek(name: string): Int32Array | undefined {
    return this.#rows.peek(name);
  }

  /** All names and rows as they are now. An iterator would follow the order of use, which changes while it runs. */
  entries(): readonly (readonly [name: string, row: Int32Array])[] {
    return [...this.#rows.entries()];
  }

  #unnamed(): Int32Array {
    this.namesDropped++;
    return this.#unkept;
  }

  /** Decisions under way may still count in the row. They have counted their hits before, so none is missing here. */
  #letGo(row: Int32Array): void {
    if (row.every(word => word === 0)) return;
    this.namesDropped++;
    this.#hitsLetGo += hitsOf(row);
    // A reader may have come to know the row before, and must not tell of these hits again.
    row.fill(0);
  }
}

function newRow(): Int32Array {
  return ownTotals(NAMED_STATS.length);
}

function hitsOf(row: Int32Array): number {
  return totalOf(row, RULE_STAT.totalHits) + totalOf(row, DOMAIN_NOT_FOUND);
}
