import { ByteWriter } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { CounterBatch } from '../../counters/batch.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { holdBack } from '../../counters/holding-back.ts';
import type { CounterStore } from '../../counters/store.ts';
import { RequestTable } from '../../messages/request-table.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { DecisionBatch } from '../batch.ts';
import { Engine, type EngineOptions } from '../engine.ts';
import { NAMED_STATS, type NamedStatistics } from '../statistics/named-rows.ts';
import { RuleGeneration } from '../statistics/rule-statistics.ts';
import { ownTotals } from '../statistics/shared-totals.ts';
import { type Explanation, explainDescriptors } from './explain-descriptor.ts';

interface ExplainerParts {
  readonly options: EngineOptions;
  readonly store: CounterStore;
  /** The key of the batches that count in the store. */
  readonly fingerprintKey: FingerprintKey;
  /** The rules in force; null before the first load. */
  readonly rules: () => CompiledRules | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Maximum number of descriptors explained per request. With the limit on the body, this limits the work to a few
 * milliseconds.
 */
export const MAX_EXPLAINED_DESCRIPTORS = 64;

const UNCOUNTED = { add: () => {} };
const NO_COUNTERS = {
  storeError: UNCOUNTED,
  serviceError: UNCOUNTED,
  cancelled: UNCOUNTED,
  globalShadowMode: UNCOUNTED,
};

/**
 * Says what a request would be answered, and why, without counting a hit or a statistic. The answer comes from the same
 * engine as decisions do, on a store that only reads and statistics that nobody sees. The local cache is not asked: it
 * only holds what the counts say as well.
 */
export class Explainer {
  readonly #parts: ExplainerParts;
  /** Rules with statistics of their own, kept for the next request. */
  #generation: RuleGeneration | null = null;

  constructor(parts: ExplainerParts) {
    this.#parts = parts;
  }

  /**
   * Explains a `RateLimitRequest` in protobuf wire format.
   * @throws Fault with the kind of fault that the decision would fail with, or `too_large` above
   *   {@link MAX_EXPLAINED_DESCRIPTORS}
   */
  async explain(request: Uint8Array): Promise<Explanation> {
    refuseTooMany(request);
    const { options, store, fingerprintKey, clock, logger } = this.#parts;
    const generation = this.#currentGeneration();
    const reading = new ReadingStore(store);
    const counters = NO_COUNTERS;
    const random = (): number => 0;
    const parts = { options, store: reading, overLimit: null, counters, clock, logger, random, nowMs: null };
    const batch = new DecisionBatch(fingerprintKey, unseenStatistics());
    const answer = await answerOf(new Engine(parts), batch, { request, generation });
    // There is an answer only where there are rules.
    const { rules } = generation!;
    return {
      domain: batch.requests.text(batch.requests.domainStart[0], batch.requests.domainEnd[0]),
      time: new Date(batch.nowS * 1_000).toISOString(),
      descriptors: explainDescriptors({ batch, rules, present: reading.present, answer }),
      answer,
    };
  }

  #currentGeneration(): RuleGeneration | null {
    const rules = this.#parts.rules();
    if (rules === null) return null;
    if (this.#generation?.rules !== rules) this.#generation = new RuleGeneration(rules);
    return this.#generation;
  }
}

/** Input that cannot be read is rejected by the engine, with its own message. */
function refuseTooMany(request: Uint8Array): void {
  const table = new RequestTable();
  try {
    table.add(request);
  } catch {
    return;
  }
  if (table.descriptorRows <= MAX_EXPLAINED_DESCRIPTORS) return;
  throw new Fault(
    'too_large',
    `the request has ${table.descriptorRows} descriptors, and at most ${MAX_EXPLAINED_DESCRIPTORS} are explained at once: send the rest in another request`,
  );
}

function unseenStatistics(): NamedStatistics {
  const row = ownTotals(NAMED_STATS.length);
  return { rowFor: () => row, domainNotFound: () => {} };
}

/** Decides the one request of a batch; what was worked out stays in the batch. */
async function answerOf(
  engine: Engine,
  batch: DecisionBatch,
  { request, generation }: { request: Uint8Array; generation: RuleGeneration | null },
): Promise<JsonObject> {
  const body = new ByteWriter();
  let refusal: Fault | null = null;
  batch.add(request, 'json', {
    gone: false,
    answered: response => body.copy(response, 0, response.length),
    refused: fault => {
      refusal = fault;
    },
  });
  await engine.run(batch, generation);
  if (refusal !== null) throw refusal;
  return JSON.parse(Buffer.from(body.view()).toString());
}

/** A store that works out what another one would answer, from its present counts, and counts nothing. */
class ReadingStore implements CounterStore {
  readonly name: string;
  readonly secondsApart: boolean;
  /** By slot of the batch: the present count, NaN where it is not known. */
  present = new Float64Array(0);
  readonly #store: CounterStore;

  constructor(store: CounterStore) {
    this.name = store.name;
    this.secondsApart = store.secondsApart === true;
    this.#store = store;
  }

  async increment(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    batch.spreadCounts();
  }

  async incrementHoldingBack(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    holdBack(batch);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async #read(batch: CounterBatch): Promise<void> {
    const store = this.#store;
    if (store.read === undefined) throw new Fault('store_failed', `the store ${store.name} cannot be read`);
    await store.read(batch);
    this.present = batch.counts.slice(0, batch.slotCount);
  }
}
