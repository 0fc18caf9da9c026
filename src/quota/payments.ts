import type { FingerprintKey } from '../counters/fingerprint.ts';
import type { RefundMarks } from '../counters/refund-marks.ts';
import type { CounterStore } from '../counters/store.ts';
import { DecisionBatch, endOfLimits, firstLimit } from '../decision/batch.ts';
import { CacheKeys } from '../decision/cache-key.ts';
import { NO_REPLY } from '../decision/decider.ts';
import { markRefunds } from '../decision/over-limit-cache.ts';
import { Planner, type RowSelection } from '../decision/plan.ts';
import type { NamedStatistics } from '../decision/statistics/named-rows.ts';
import { ROW_SLOTS, type RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { ownTotals } from '../decision/statistics/shared-totals.ts';
import { UNCOUNTED } from '../stats/registry.ts';
import type { SharedRecordsReader } from '../steering/shared-records.ts';

interface PaymentParts {
  readonly store: CounterStore;
  readonly cacheKeyPrefix: string;
  readonly fingerprintKey: FingerprintKey;
  /** The statistics with names made from request values. */
  readonly named: NamedStatistics;
  /** Tells the local caches of all threads what was given back; null without local caches. */
  readonly marks: RefundMarks | null;
  /** The steering records; null if they are disabled. */
  readonly steering: SharedRecordsReader | null;
}

/** Chooses what is counted of a request, whose number is that of its row: sets the hits of its limits, and the kind of others to none. */
type Choice = (batch: DecisionBatch, request: number) => void;

/**
 * Counts hits of buckets as those of requests, in the counters of their limits: the ones that the rules, the overrides and
 * the calls of `ShouldRateLimit` use. The time may lie ahead, so that a window is paid for before it begins. Statistics of
 * rules do not change.
 */
export class Payments implements RowSelection {
  readonly #parts: PaymentParts;
  readonly #planner: Planner;
  readonly #uncounted = ownTotals(ROW_SLOTS);
  /** Batches that are not in use. */
  readonly #free: DecisionBatch[] = [];
  #choice: Choice = () => {};
  /** How far the time of the batch that is planned lies ahead. */
  #aheadS = 0;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.#planner = new Planner({
      cacheKeys: new CacheKeys(parts.cacheKeyPrefix),
      overLimit: null,
      holdsBack: false,
      steering: { banned: UNCOUNTED, passed: UNCOUNTED },
      expiryJitterS: () => this.#aheadS,
      selection: this,
    });
  }

  /**
   * Plans requests with one descriptor each, as if they were made at a time.
   *
   * @param requests `RateLimitRequest`s in wire format whose descriptor has the hits 0
   * @param timeMs a whole number
   * @param nowMs the present time
   */
  plan(
    requests: readonly Uint8Array[],
    generation: RuleGeneration,
    timeMs: number,
    nowMs: number,
    choice: Choice,
  ): DecisionBatch {
    const { fingerprintKey, named, store, steering } = this.#parts;
    const batch = this.#free.pop() ?? new DecisionBatch(fingerprintKey, named);
    for (const request of requests) batch.add(request, 'protobuf', NO_REPLY);
    batch.nowMs = timeMs;
    batch.nowS = Math.floor(timeMs / 1_000);
    batch.decode();
    batch.counters.secondsApart = store.secondsApart === true;
    this.#choice = choice;
    this.#aheadS = Math.max(0, Math.ceil((timeMs - nowMs) / 1_000));
    this.#planner.plan(batch, generation, steering === null ? null : steering.at(nowMs));
    // A store forgets counters that have expired at the time of a batch.
    batch.counters.nowMs = nowMs;
    batch.counters.nowS = Math.floor(nowMs / 1_000);
    return batch;
  }

  /** Counts a batch that was planned. @throws (rejects with) Fault `store_failed`: the hits may or may not be counted */
  async count({ counters }: DecisionBatch): Promise<void> {
    const { store, marks } = this.#parts;
    if (counters.opCount === 0) return;
    try {
      await store.increment(counters);
    } finally {
      // Also if the store has failed, because it may have counted.
      if (marks !== null) markRefunds(counters, marks);
    }
  }

  /** A batch that was planned is not needed any more. */
  release(batch: DecisionBatch): void {
    if (batch.isLarge) return;
    batch.reset();
    this.#free.push(batch);
  }

  /** Lets the choice set the hits, and keeps them out of the statistics of rules. */
  select(batch: DecisionBatch, first: number): void {
    const { decisions } = batch;
    this.#choice(batch, first);
    batch.ruleTotals = this.#uncounted;
    for (let row = firstLimit(decisions, first); row < endOfLimits(decisions, first); row++) {
      decisions.statistics[row] = this.#uncounted;
      decisions.statisticsBase[row] = 0;
      decisions.extraBase[row] = 0;
    }
  }
}
