import { EmbeddedCounterStore } from '../counters/embedded/embedded-store.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { countBatch } from '../counters/store.ts';
import { DecisionBatch } from '../decision/batch.ts';
import { CacheKeys } from '../decision/cache-key.ts';
import { NO_REPLY } from '../decision/decider.ts';
import type { EngineOptions } from '../decision/engine.ts';
import { Evaluator } from '../decision/evaluate.ts';
import { markRefunds, OverLimitCache } from '../decision/over-limit-cache.ts';
import { Planner } from '../decision/plan.ts';
import { discardedNames } from '../decision/statistics/named-rows.ts';
import { UNCOUNTED } from '../stats/registry.ts';
import type { SteeringTable } from '../steering/steering-table.ts';
import { KeySampler } from './key-sampler.ts';
import type { Rehearsal } from './rehearsal.ts';

/** How the thread decides. */
export interface ShadowSettings {
  readonly options: EngineOptions;
  readonly fingerprintKey: FingerprintKey;
  /** Size of the local cache of this thread; 0 if it is disabled. */
  readonly localCacheBytes: number;
}

/**
 * Decides batches with the candidate rules of one rehearsal, as the engine of the thread does with the active rules, but
 * nothing is answered. It has all memory of the rehearsal in this thread.
 */
export class ShadowEngine {
  readonly rehearsal: Rehearsal;
  /** The requests and decisions of the last call of {@link decide}. */
  batch: DecisionBatch;
  readonly #settings: ShadowSettings;
  readonly #overLimit: OverLimitCache | null;
  readonly #sampler: KeySampler | null;
  readonly #planner: Planner;
  readonly #evaluator: Evaluator;
  readonly #store: EmbeddedCounterStore;
  /** The comparison is by limit, and not by name. */
  readonly #names = discardedNames();

  constructor(rehearsal: Rehearsal, settings: ShadowSettings) {
    const { options, fingerprintKey, localCacheBytes } = settings;
    const clock = { nowMs: () => this.batch.nowMs };
    this.rehearsal = rehearsal;
    this.#settings = settings;
    this.batch = new DecisionBatch(fingerprintKey, this.#names);
    this.#overLimit =
      localCacheBytes === 0 ? null : new OverLimitCache(localCacheBytes, clock, rehearsal.marks);
    this.#sampler =
      rehearsal.share < 1 ? new KeySampler(fingerprintKey, rehearsal.share, rehearsal.rules) : null;
    this.#planner = new Planner({
      cacheKeys: new CacheKeys(options.cacheKeyPrefix),
      overLimit: this.#overLimit,
      holdsBack: options.holdBack,
      steering: { banned: UNCOUNTED, passed: UNCOUNTED },
      expiryJitterS: () => 0,
      ...(this.#sampler !== null && { selection: this.#sampler }),
    });
    this.#evaluator = new Evaluator(options.nearLimitRatio, this.#overLimit, 'allow');
    this.#store = new EmbeddedCounterStore(rehearsal.counters);
  }

  /**
   * Plans the requests of a batch that was decided, and counts them in the counters of the rehearsal.
   * @param steering the steering records of the batch; null if there are none
   */
  decide(live: DecisionBatch, steering: SteeringTable | null): void {
    const { batch } = this;
    batch.records.copyOf(live.records);
    for (let request = 0; request < live.size; request++) batch.replies.push(NO_REPLY);
    batch.nowMs = live.nowMs;
    batch.nowS = live.nowS;
    batch.decode();
    for (let request = 0; request < live.size; request++) batch.faults[request] ??= live.faults[request];
    this.#sampler?.begin(batch, steering);
    this.#planner.plan(batch, this.rehearsal.generation, steering);
    if (batch.counters.opCount === 0) return;
    countBatch(this.#store, batch.counters, this.#settings.options.holdBack);
    if (this.#overLimit !== null) markRefunds(batch.counters, this.#overLimit.marks);
  }

  /** Decides the descriptors of a request. Returns false if they have no decision. */
  evaluate(request: number): boolean {
    return this.batch.faults[request] === null && this.#evaluator.evaluate(this.batch, request) === null;
  }

  /** Whether a descriptor has a key that is not among the share that is decided. */
  isLeftOut(row: number): boolean {
    return this.#sampler?.isLeftOut(row) === true;
  }

  /** Releases the requests. The memory of a large batch is not kept. */
  reset(): void {
    if (this.batch.isLarge) this.batch = new DecisionBatch(this.#settings.fingerprintKey, this.#names);
    else this.batch.reset();
  }
}
