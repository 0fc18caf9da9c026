import type { Histogram } from '../../stats/histogram.ts';
import { type BatchFigures, figureBetween } from './batch-figures.ts';

/** The figures describe at least this long, if somebody looks at least as often. */
const SPAN_MS = 10_000;

/** A snapshot is kept if the one before is at least as old as this. */
const LEAST_APART_MS = 900;

/** How batches were decided in the last seconds. */
export interface RecentFigures {
  /** The length of the time that is described; 0 if it has only begun. */
  readonly seconds: number;
  /** Durations of decisions, and of their part in the store, in milliseconds. */
  readonly decision: Histogram;
  readonly store: Histogram;
  /** Requests in each batch. */
  readonly requests: Histogram;
}

interface Snapshot {
  readonly atMs: number;
  readonly counts: Int32Array;
}

/** Quantiles of {@link BatchFigures} over the last ten seconds; over the time since the last look, if that is longer. */
export class LatestFigures {
  readonly #figures: BatchFigures;
  #snapshots: Snapshot[];

  constructor(figures: BatchFigures, nowMs: number) {
    this.#figures = figures;
    this.#snapshots = [{ atMs: nowMs, counts: figures.snapshot() }];
  }

  look(nowMs: number): RecentFigures {
    const counts = this.#figures.snapshot();
    const last = this.#snapshots[this.#snapshots.length - 1];
    // The clock may have been set back.
    if (nowMs < last.atMs) this.#snapshots = [];
    else if (nowMs - last.atMs < LEAST_APART_MS) return recent(this.#snapshots[0], { atMs: nowMs, counts });
    this.#snapshots.push({ atMs: nowMs, counts });
    while (this.#snapshots.length > 2 && nowMs - this.#snapshots[1].atMs >= SPAN_MS) this.#snapshots.shift();
    return recent(this.#snapshots[0], { atMs: nowMs, counts });
  }
}

function recent(from: Snapshot, to: Snapshot): RecentFigures {
  const figure = (name: 'decision' | 'store' | 'requests') => figureBetween(from.counts, to.counts, name);
  return {
    seconds: (to.atMs - from.atMs) / 1_000,
    decision: figure('decision'),
    store: figure('store'),
    requests: figure('requests'),
  };
}
