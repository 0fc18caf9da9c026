import { ByteWriter } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { CounterStore } from '../counters/store.ts';
import type { Counter } from '../stats/registry.ts';
import { CODE, type DecisionBatch } from './batch.ts';
import { CacheKeys } from './cache-key.ts';
import { dynamicMetadata } from './dynamic-metadata.ts';
import { Evaluator, type Uncounted } from './evaluate.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { Planner } from './plan.ts';
import { ReusedViews } from './records.ts';
import {
  type GlobalModes,
  type HeaderNames,
  overallCode,
  type Response,
  reportedDescriptor,
} from './response.ts';
import { writeJsonResponse } from './response-json.ts';
import { writeProtobufResponse } from './response-protobuf.ts';
import type { RuleGeneration } from './statistics/rule-statistics.ts';

/** Looking at the clock would cost smaller batches too much, and nobody asks what they cost. */
const LEAST_MEASURED = 8;

/** How decisions are made; the settings of the same names (spec 2.7). */
export interface EngineOptions {
  readonly cacheKeyPrefix: string;
  /** A time to live is the window plus a random part below this; 0 or less: exactly the window. */
  readonly expirationJitterMaxSeconds: number;
  readonly nearLimitRatio: number;
  /** Count nothing of a request that has a descriptor over its limit, but for the descriptors that are over. */
  readonly holdBack: boolean;
  readonly modes: GlobalModes;
  /** What becomes of a descriptor whose key the store could not count. Without it: its request is refused. */
  readonly uncounted?: Uncounted;
  /** Null: no response headers. */
  readonly headerNames: HeaderNames | null;
  readonly dynamicMetadata: boolean;
}

/** What the engine counts about itself. */
export interface EngineCounters {
  /** Calls that failed because the store did. */
  readonly storeError: Counter;
  /** Calls that failed for another reason. */
  readonly serviceError: Counter;
  /** Calls that ended before their turn came: cancelled, or past their deadline. Nothing of them is counted elsewhere. */
  readonly cancelled: Counter;
  /** Responses that global shadow mode turned from over limit to OK. */
  readonly globalShadowMode: Counter;
}

interface EngineParts {
  readonly options: EngineOptions;
  readonly store: CounterStore;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitCache | null;
  readonly counters: EngineCounters;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly logger: Logger;
  /** From 0 to below 1; decides the jitter of times to live. */
  readonly random: () => number;
  /** Measures what larger batches cost, in milliseconds with fractions; null when nobody wants to know. */
  readonly nowMs: (() => number) | null;
}

/** Decides whole batches: plan, one call of the store, evaluate, answer. */
export class Engine {
  readonly #parts: EngineParts;
  readonly #planner: Planner;
  readonly #evaluator: Evaluator;
  readonly #out = new ByteWriter(4_096);
  readonly #views = new ReusedViews();

  constructor(parts: EngineParts) {
    const { options, overLimit, random } = parts;
    const jitterS = options.expirationJitterMaxSeconds;
    this.#parts = parts;
    this.#planner = new Planner({
      cacheKeys: new CacheKeys(options.cacheKeyPrefix),
      overLimit,
      expiryJitterS: jitterS > 0 ? () => Math.floor(random() * jitterS) : () => 0,
    });
    this.#evaluator = new Evaluator({
      nearLimitRatio: options.nearLimitRatio,
      overLimit,
      uncounted: options.uncounted ?? 'refuse',
    });
  }

  /**
   * Decides all requests of the batch under one generation of rules and answers them in order. Returns nothing when
   * the store counts in memory, else a promise that never rejects. Every request is answered or refused, once;
   * without a generation each is told what is wrong with it, or that there are no rules.
   */
  run(batch: DecisionBatch, generation: RuleGeneration | null): void | Promise<void> {
    const { clock } = this.#parts;
    const beganMs = this.#measure(batch);
    batch.nowS = Math.floor(clock.nowMs() / 1_000);
    batch.spentMs = 0;
    if (generation !== null) generation.batches++;
    let counting: void | Promise<void>;
    try {
      counting = this.#plan(batch, generation);
    } catch (failure) {
      this.#failAll(batch, generation, failure);
      return;
    }
    if (counting === undefined) {
      this.#answerAll(batch, generation, beganMs);
      return;
    }
    batch.spentMs = this.#measure(batch) - beganMs;
    return counting.then(
      () => this.#answerAll(batch, generation, this.#measure(batch)),
      (failure: unknown) => this.#failAll(batch, generation, failure),
    );
  }

  /** Everything up to the store, and the call of the store if there is anything to count. */
  #plan(batch: DecisionBatch, generation: RuleGeneration | null): void | Promise<void> {
    const { store, options } = this.#parts;
    const { counters } = batch;
    batch.decode();
    counters.secondsApart = store.secondsApart === true;
    this.#planner.plan(batch, generation);
    if (counters.opCount === 0) return;
    return options.holdBack ? store.incrementHoldingBack(counters) : store.increment(counters);
  }

  #answerAll(batch: DecisionBatch, generation: RuleGeneration | null, beganMs: number): void {
    this.#markRefunds(batch);
    for (let request = 0; request < batch.size; request++) {
      let fault = batch.faults[request];
      let overLimit = false;
      try {
        fault ??= this.#evaluator.evaluate(batch, request);
        // Without a generation there is a fault for every request.
        if (fault === null) overLimit = this.#encode(batch, request, generation!);
      } catch (failure) {
        fault = this.#defect(failure);
      }
      if (fault === null) this.#answer(batch, request, overLimit);
      else this.#refuse(batch, request, fault);
    }
    // Last: a generation without batches may be let go of at any time, and evaluating still counts in it.
    if (generation !== null) generation.batches--;
    batch.spentMs += this.#measure(batch) - beganMs;
  }

  /** Once the store has refunded the keys: what caches know of them from before holds no longer. */
  #markRefunds({ counters }: DecisionBatch): void {
    const { overLimit } = this.#parts;
    if (overLimit === null || counters.refundCount === 0) return;
    for (let op = 0; op < counters.opCount; op++) {
      const lowers = counters.opRefunds[op] === 1 && counters.opHits[op] > 0;
      if (lowers) overLimit.marks.refunded(counters.markWord(op));
    }
  }

  /** The time, for batches whose cost is of interest; always 0 for others. */
  #measure(batch: DecisionBatch): number {
    const { nowMs } = this.#parts;
    return nowMs === null || batch.size < LEAST_MEASURED ? 0 : nowMs();
  }

  #failAll(batch: DecisionBatch, generation: RuleGeneration | null, failure: unknown): void {
    // The store may have counted them all the same.
    this.#markRefunds(batch);
    if (generation !== null) generation.batches--;
    const fault = failure instanceof Fault ? failure : this.#defect(failure);
    const decoded = batch.requests.requestCount;
    for (let request = 0; request < batch.size; request++) {
      // Behind what was decoded stand faults of a batch before.
      this.#refuse(batch, request, (request < decoded ? batch.faults[request] : null) ?? fault);
    }
  }

  /** Writes the response into the output buffer; true when it says over limit. */
  #encode(batch: DecisionBatch, request: number, generation: RuleGeneration): boolean {
    const { options, counters } = this.#parts;
    let overall = overallCode(batch, request, options.modes);
    const reported = options.headerNames === null ? -1 : reportedDescriptor(batch, request, options.modes);
    if (overall === CODE.overLimit && options.modes.shadow) {
      overall = CODE.ok;
      counters.globalShadowMode.add(1);
    }
    const response: Response = {
      batch,
      request,
      rules: generation.rules,
      overallCode: overall,
      reported,
      headerNames: options.headerNames,
      metadata: options.dynamicMetadata ? dynamicMetadata(batch, request, generation.rules) : null,
    };
    this.#out.reset();
    if (batch.formats[request] === 'json') writeJsonResponse(this.#out, response);
    else writeProtobufResponse(this.#out, response);
    return overall === CODE.overLimit;
  }

  /** Hands an answer over. A reply that throws must not keep the rest of the batch from being answered. */
  #answer(batch: DecisionBatch, request: number, overLimit: boolean): void {
    try {
      batch.replies[request].answered(this.#views.of(this.#out.bytes, this.#out.length), overLimit);
    } catch (failure) {
      this.#parts.logger.error('Could not send a response (this is a bug; please report it)', {
        error: asError(failure).stack,
      });
    }
  }

  #refuse(batch: DecisionBatch, request: number, fault: Fault): void {
    this.#counterOf(fault)?.add(1);
    try {
      batch.replies[request].refused(fault);
    } catch (failure) {
      this.#parts.logger.error('Could not send an error response (this is a bug; please report it)', {
        error: asError(failure).stack,
      });
    }
  }

  /** As with the reference implementation, what is no message is no call either: it is not counted. */
  #counterOf({ code }: Fault): Counter | null {
    const { storeError, serviceError, cancelled } = this.#parts.counters;
    if (code === 'unparseable') return null;
    return code === 'store_failed' ? storeError : code === 'cancelled' ? cancelled : serviceError;
  }

  #defect(failure: unknown): Fault {
    const cause = asError(failure);
    this.#parts.logger.error('Could not make a response (this is a bug; please report it)', {
      error: cause.stack,
    });
    return new Fault('internal', 'the answer could not be made; the log of the service says why', { cause });
  }
}
