import { MINUTE_MS } from '../../base/clock.ts';
import { combine } from '../../base/hash.ts';
import type { Columns } from './columns.ts';
import { type KeySample, KeyTable } from './key-table.ts';

/** The spans of time for which the keys with the most hits are known. */
export type Span = 'minute' | 'hour';

/** Number of slices of a span: the current one, and those before it. */
const SLICES = 3;
const SLICE_MS: Readonly<Record<Span, number>> = { minute: MINUTE_MS / SLICES, hour: 20 * MINUTE_MS };

const KEY_BUCKETS = 128;
const RULE_BUCKETS = 128;

/**
 * One slice of a span. Each key is in two tables. In `byKey`, the keys of all rules share all buckets, so a rule with most
 * of the hits has most of the entries. In `byRule`, the keys of a rule are in one bucket, so that a rule with few hits has
 * entries even if other rules have a million keys. A reader uses the table with the smaller error.
 */
export interface Slice {
  /** [0]: the number of the slice since the epoch; 0 for an unused one. */
  readonly number: Float64Array;
  /** [0]: the largest sampling interval minus 1. */
  readonly sampled: Float64Array;
  readonly byKey: KeyTable;
  readonly byRule: KeyTable;
}

/** The bucket of a key in `Slice.byKey`. */
export function bucketOfKey({ tag, check, ruleA }: Pick<KeySample, 'tag' | 'check' | 'ruleA'>): number {
  return combine(tag ^ ruleA, check) & (KEY_BUCKETS - 1);
}

/** The bucket of the keys of a rule in `Slice.byRule`. */
export function bucketOfRule(ruleA: number): number {
  return ruleA & (RULE_BUCKETS - 1);
}

/** The keys with the most hits in a span of time. The span moves on by whole slices. */
export class SpanSketch {
  readonly #sliceMs: number;
  readonly #slices: readonly Slice[];

  constructor(columns: Columns, span: Span) {
    this.#sliceMs = SLICE_MS[span];
    this.#slices = Array.from({ length: SLICES }, () => ({
      number: columns.float64(1),
      sampled: columns.float64(1),
      byKey: new KeyTable(columns, KEY_BUCKETS),
      byRule: new KeyTable(columns, RULE_BUCKETS),
    }));
  }

  /** The slice to which hits at a time are added. */
  at(nowMs: number): Slice {
    const number = Math.floor(nowMs / this.#sliceMs);
    const slice = this.#slices[number % SLICES];
    if (slice.number[0] !== number) {
      slice.byKey.clear();
      slice.byRule.clear();
      slice.number[0] = number;
      slice.sampled[0] = 0;
    }
    return slice;
  }

  /** The slices of the span that ends at a time, without those that have no hits. */
  last(nowMs: number): Slice[] {
    const sinceMs = startOfSpan(nowMs, this.#sliceMs);
    return this.#slices.filter(({ number }) => {
      const startMs = number[0] * this.#sliceMs;
      return startMs >= sinceMs && startMs <= nowMs;
    });
  }
}

/** Records the sampling interval of hits that are added to a slice. */
export function noteInterval({ sampled }: Slice, interval: number): void {
  if (interval - 1 > sampled[0]) sampled[0] = interval - 1;
}

/** When the span starts that ends at a time: between two thirds of its length and its length earlier. */
export function spanStartMs(nowMs: number, span: Span): number {
  return startOfSpan(nowMs, SLICE_MS[span]);
}

function startOfSpan(nowMs: number, sliceMs: number): number {
  return (Math.floor(nowMs / sliceMs) - (SLICES - 1)) * sliceMs;
}
