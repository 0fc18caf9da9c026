import { EmbeddedCounterStore } from '../counters/embedded/embedded-store.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { CODE, DecisionBatch, hitsOf, isLimited } from '../decision/batch.ts';
import type { BatchObserver } from '../decision/batch-observer.ts';
import { CacheKeys } from '../decision/cache-key.ts';
import type { DecisionReply } from '../decision/decider.ts';
import type { EngineOptions } from '../decision/engine.ts';
import { Evaluator } from '../decision/evaluate.ts';
import { KeyTextWriter } from '../decision/hot-keys/key-text.ts';
import { Planner } from '../decision/plan.ts';
import { NAMED_STATS, type NamedStatistics } from '../decision/statistics/named-rows.ts';
import { ownTotals } from '../decision/statistics/shared-totals.ts';
import type { SharedRecordsReader } from '../steering/shared-records.ts';
import { KeySampler } from './key-sampler.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { RehearsalSource } from './rehearsal-channel.ts';

interface ObserverParts {
  readonly source: RehearsalSource;
  readonly options: EngineOptions;
  readonly fingerprintKey: FingerprintKey;
  /** The steering records, which apply to candidate rules as well; null if they are disabled. */
  readonly steering: SharedRecordsReader | null;
}

const NOTHING_COUNTED = { add: () => {} };

/** The answers of candidate rules go nowhere. */
const NO_REPLY: DecisionReply = { gone: false, answered: () => {}, refused: () => {} };

/** Counts under names made from request values are not kept: the comparison is by limit. */
class NoNames implements NamedStatistics {
  readonly #row = ownTotals(NAMED_STATS.length);

  rowFor(): Int32Array {
    return this.#row;
  }

  domainNotFound(): void {}
}

/**
 * Decides each batch once more with the candidate rules, after its answers were passed on, and compares the outcomes of
 * each descriptor. Costs nothing while there is no rehearsal.
 */
export class RehearsalObserver implements BatchObserver {
  readonly #parts: ObserverParts;
  readonly #batch: DecisionBatch;
  readonly #planner: Planner;
  readonly #evaluator: Evaluator;
  readonly #sampler: KeySampler;
  readonly #text = new KeyTextWriter();
  /** The store of the rehearsal that was decided last. */
  #store: { readonly of: Rehearsal; readonly counters: EmbeddedCounterStore } | null = null;

  constructor(parts: ObserverParts) {
    const { options, fingerprintKey } = parts;
    this.#parts = parts;
    this.#batch = new DecisionBatch(fingerprintKey, new NoNames());
    this.#planner = new Planner({
      cacheKeys: new CacheKeys(options.cacheKeyPrefix),
      overLimit: null,
      steering: { banned: NOTHING_COUNTED, passed: NOTHING_COUNTED },
      expiryJitterS: () => 0,
    });
    this.#evaluator = new Evaluator({
      nearLimitRatio: options.nearLimitRatio,
      overLimit: null,
      uncounted: 'allow',
    });
    this.#sampler = new KeySampler(fingerprintKey);
  }

  observe(live: DecisionBatch): void {
    const rehearsal = this.#parts.source.current;
    if (rehearsal === null) return;
    const batch = this.#batch;
    rehearsal.generation.begin();
    try {
      this.#decide(live, rehearsal);
      for (let request = 0; request < batch.size; request++) {
        if (live.faults[request] !== null || batch.faults[request] !== null) continue;
        if (this.#evaluator.evaluate(batch, request) === null) this.#compare(live, rehearsal, request);
      }
    } finally {
      rehearsal.generation.end();
      batch.reset();
    }
  }

  /** Plans the same requests with the candidate rules, and counts them in the counters of the rehearsal. */
  #decide(live: DecisionBatch, rehearsal: Rehearsal): void {
    const { options, steering } = this.#parts;
    const batch = this.#batch;
    batch.records.copyOf(live.records);
    for (let request = 0; request < live.size; request++) batch.replies.push(NO_REPLY);
    batch.nowMs = live.nowMs;
    batch.nowS = live.nowS;
    batch.decode();
    for (let request = 0; request < live.size; request++) batch.faults[request] ??= live.faults[request];
    if (rehearsal.share < 1) this.#sampler.leaveOut(batch.requests, rehearsal.share);
    this.#planner.plan(batch, rehearsal.generation, steering?.at(batch.nowS) ?? null);
    if (batch.counters.opCount === 0) return;
    const store = this.#storeOf(rehearsal);
    if (options.holdBack) store.incrementHoldingBack(batch.counters);
    else store.increment(batch.counters);
  }

  #storeOf(rehearsal: Rehearsal): EmbeddedCounterStore {
    if (this.#store?.of !== rehearsal) {
      this.#store = { of: rehearsal, counters: new EmbeddedCounterStore(rehearsal.counters) };
    }
    return this.#store.counters;
  }

  #compare(live: DecisionBatch, rehearsal: Rehearsal, request: number): void {
    const batch = this.#batch;
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    for (let row = first; row < first + requests.descriptorCount[request]; row++) {
      if (requests.entryCount[row] === 0 || requests.isRefund[row] === 1) continue;
      const isRejected = decisions.code[row] === CODE.overLimit;
      const isRejectedToday = live.decisions.code[row] === CODE.overLimit;
      const limit = isLimited(decisions.kind[row]) ? decisions.limit[row] : -1;
      rehearsal.comparison.add(limit, hitsOf(batch, request, row), isRejected, isRejectedToday);
      if (isRejected !== isRejectedToday) this.#remember(rehearsal, { request, row, limit, isRejected });
    }
  }

  #remember(
    rehearsal: Rehearsal,
    change: {
      readonly request: number;
      readonly row: number;
      readonly limit: number;
      readonly isRejected: boolean;
    },
  ): void {
    const { request, row, limit, isRejected } = change;
    this.#text.writeEntries(this.#batch.requests, request, row);
    rehearsal.keys.add(limit, isRejected, this.#text.bytes);
  }
}
