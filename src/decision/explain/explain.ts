import { ByteWriter } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { CounterBatch } from '../../counters/batch.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { ACTION } from '../../counters/leases/lease.ts';
import type { RefundMarks } from '../../counters/refund-marks.ts';
import { type CounterStore, callIfAble } from '../../counters/store.ts';
import { RequestTable } from '../../messages/request-table.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { UNCOUNTED } from '../../stats/registry.ts';
import type { SharedRecordsReader } from '../../steering/shared-records.ts';
import { AnswerAdditions } from '../answers/additions.ts';
import { DecisionBatch } from '../batch.ts';
import { Engine, type EngineOptions } from '../engine.ts';
import { discardedNames } from '../statistics/named-rows.ts';
import { RuleGeneration } from '../statistics/rule-statistics.ts';
import { type DescriptorExplanation, type Explanation, explainDescriptors } from './explain-descriptor.ts';
import { type Reading, ReadingStore } from './reading-store.ts';

interface ExplainerParts {
  readonly options: EngineOptions;
  readonly store: CounterStore;
  /** The fingerprint key of the batches. */
  readonly fingerprintKey: FingerprintKey;
  /** Returns the active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
  /** The steering records. Default: none. */
  readonly steering?: SharedRecordsReader;
  /** Marks of refunds for the local caches of all threads; null without a local cache. */
  readonly marks: RefundMarks | null;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly logger: Logger;
}

/** How a request is explained. */
interface Look extends Reading {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Without bans and passes, which do not count. */
  readonly steering: SharedRecordsReader | undefined;
}

/**
 * Maximum number of descriptors explained per request. With the limit on the body, this limits the work to a few
 * milliseconds.
 */
export const MAX_EXPLAINED_DESCRIPTORS = 64;

const NO_COUNTERS = {
  storeError: UNCOUNTED,
  serviceError: UNCOUNTED,
  cancelled: UNCOUNTED,
  globalShadowMode: UNCOUNTED,
  banned: UNCOUNTED,
  passed: UNCOUNTED,
};

/**
 * Explains how a request would be answered, and why, without counting hits or statistics. The answer comes from the
 * engine, with a store that only reads and with discarded statistics. The local cache is not used: it follows from the
 * counts.
 */
export class Explainer {
  readonly #parts: ExplainerParts;
  /** A request as it would be answered now. */
  readonly #look: Look;
  /** The rules with separate statistics, kept for the next request. */
  #generation: RuleGeneration | null = null;

  constructor(parts: ExplainerParts) {
    this.#parts = parts;
    const { clock, steering, store } = parts;
    const counts = async (batch: CounterBatch) => callIfAble(store, 'read', batch);
    this.#look = { clock, steering, counts, mostLeases: null };
  }

  /**
   * Explains a `RateLimitRequest` in protobuf wire format.
   * @throws Fault as the decision would, or `too_large` above {@link MAX_EXPLAINED_DESCRIPTORS}
   */
  explain(request: Uint8Array): Promise<Explanation> {
    return this.#explain(request, this.#look);
  }

  /**
   * Explains a request as if it was made at another time, from the counts that are still in the store. Throws as
   * {@link explain}.
   */
  explainAt(nowMs: number, request: Uint8Array): Promise<Explanation> {
    return this.#explain(request, { ...this.#look, clock: { nowMs: () => nowMs } });
  }

  /** Explains a request, and lists the leases of its limits that end first. Throws as {@link explain}. */
  explainLeases(request: Uint8Array, most: number): Promise<Explanation> {
    return this.#explain(request, { ...this.#look, steering: undefined, mostLeases: most });
  }

  /**
   * Removes the counters in which the request would count if no steering record applied to it, from the store and from all
   * local caches. Returns the explanation of the request before that. Throws as {@link explain}.
   */
  reset(request: Uint8Array): Promise<Explanation> {
    const counts = (batch: CounterBatch) => this.#reset(batch);
    return this.#explain(request, { ...this.#look, steering: undefined, counts });
  }

  /**
   * Releases the leases of a request that says so. Returns the explanation of the request before that. Throws as
   * {@link explain}.
   */
  async release(request: Uint8Array): Promise<Explanation> {
    const look = { ...this.#look, steering: undefined };
    const before = await this.#explain(request, look);
    if (!before.descriptors.some(endsLease)) return before;
    const release = async (batch: CounterBatch) => {
      batch.leases.actions.fill(ACTION.revoke, 0, batch.opCount);
      await this.#parts.store.incrementHoldingBack(batch);
    };
    await this.#explain(request, { ...look, counts: release });
    return before;
  }

  async #reset(batch: CounterBatch): Promise<void> {
    const { store, marks } = this.#parts;
    try {
      await callIfAble(store, 'reset', batch);
    } finally {
      // Also after a failure, because some keys may have been removed.
      if (marks !== null) for (let op = 0; op < batch.opCount; op++) marks.refunded(batch.markWord(op));
    }
  }

  async #explain(request: Uint8Array, look: Look): Promise<Explanation> {
    refuseTooMany(request);
    const { clock, steering } = look;
    const { options, store, fingerprintKey, logger } = this.#parts;
    const generation = this.#currentGeneration();
    const reading = new ReadingStore(store, look);
    const parts = {
      options,
      additions: new AnswerAdditions(options),
      store: reading,
      overLimit: null,
      counters: NO_COUNTERS,
      clock,
      logger,
      random: () => 0,
      nowMs: null,
      ...(steering !== undefined && { steering }),
    };
    const batch = new DecisionBatch(fingerprintKey, discardedNames());
    const answer = await answerOf(new Engine(parts), batch, { request, generation });
    // Without rules, the engine has refused the request.
    const { rules } = generation!;
    return {
      domain: batch.requests.text(batch.requests.domainStart[0], batch.requests.domainEnd[0]),
      time: new Date(batch.nowS * 1_000).toISOString(),
      descriptors: explainDescriptors({
        batch,
        rules,
        present: reading.present,
        penalties: reading.penalties,
        leases: reading.presentLeases,
        answer,
        steering: steering?.at(batch.nowMs) ?? null,
      }),
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

function endsLease({ leases, limits }: DescriptorExplanation): boolean {
  return leases?.ends === true || limits?.some(limit => limit.leases?.ends === true) === true;
}

/** Rejects a request with too many descriptors. Invalid input is rejected by the engine. */
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
    `the request has ${table.descriptorRows} descriptors; at most ${MAX_EXPLAINED_DESCRIPTORS} are explained per request: send the rest in another request`,
  );
}

/** Decides the only request of a batch. The intermediate results stay in the batch. */
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
