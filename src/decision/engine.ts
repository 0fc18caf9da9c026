import { ByteWriter } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import { type CounterStore, countBatch } from '../counters/store.ts';
import { writeHttpResponse } from '../messages/http-response.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { Counter } from '../stats/registry.ts';
import type { SharedRecordsReader } from '../steering/shared-records.ts';
import { CODE, type DecisionBatch } from './batch.ts';
import type { BatchObserver, StoreSpans } from './batch-observer.ts';
import { CacheKeys } from './cache-key.ts';
import { dynamicMetadata } from './dynamic-metadata.ts';
import { Evaluator, type Uncounted } from './evaluate.ts';
import { recordFullness } from './fullness.ts';
import { KeptRefusals } from './kept-refusals.ts';
import { markRefunds, type OverLimitCache } from './over-limit-cache.ts';
import { type GlobalModes, overallCode } from './overall-code.ts';
import { Planner } from './plan.ts';
import { ReusedViews } from './records.ts';
import {
  type HeaderNames,
  headerPairs,
  type Response,
  type ResponseAdditions,
  reportedDescriptor,
} from './response.ts';
import { writeJsonResponse } from './response-json.ts';
import { writeProtobufResponse } from './response-protobuf.ts';
import type { BatchFigures } from './statistics/batch-figures.ts';
import type { RuleGeneration } from './statistics/rule-statistics.ts';

/** Minimum number of requests in a batch to measure its duration: reading the clock costs too much for smaller ones. */
const LEAST_MEASURED = 8;

const NO_BYTES = new Uint8Array(0);

const NO_OBSERVERS: readonly BatchObserver[] = [];

/** The settings for decisions (spec 2.7). */
export interface EngineOptions {
  readonly cacheKeyPrefix: string;
  /** Maximum random number of seconds, exclusive, added to the time to live of a counter. 0 or less: none. */
  readonly expirationJitterMaxSeconds: number;
  readonly nearLimitRatio: number;
  /** If a descriptor of a request is over its limit, do not count the request against its other descriptors. */
  readonly holdBack: boolean;
  readonly modes: GlobalModes;
  /** How to decide a descriptor that the store could not count. Default: reject its request. */
  readonly uncounted?: Uncounted;
  /** Null to disable response headers. */
  readonly headerNames: HeaderNames | null;
  /** Whether responses have headers for each unit. Default: false. */
  readonly unitHeaders?: boolean;
  readonly dynamicMetadata: boolean;
  /** What all answers contain in addition, unless their domain says otherwise: bits of `ANSWER`. Default: 0. */
  readonly answers?: number;
}

/** The statistics of the engine itself. */
export interface EngineCounters {
  /** Calls that failed because of the store. */
  readonly storeError: Counter;
  /** Calls that failed for another reason. */
  readonly serviceError: Counter;
  /** Calls that were canceled, or whose deadline passed, before they were decided. They are not counted elsewhere. */
  readonly cancelled: Counter;
  /** Responses that global shadow mode turned from over limit to OK. */
  readonly globalShadowMode: Counter;
  /** Hits that a ban refused, and hits that a pass allowed. */
  readonly banned: Counter;
  readonly passed: Counter;
}

interface EngineParts {
  readonly options: EngineOptions;
  readonly store: CounterStore;
  /** The local cache; null if disabled. */
  readonly overLimit: OverLimitCache | null;
  readonly counters: EngineCounters;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly logger: Logger;
  /** Returns a random number, 0 inclusive to 1 exclusive, for the jitter of times to live. */
  readonly random: () => number;
  /** A monotonic clock in milliseconds to measure larger batches; null to disable this. */
  readonly nowMs: (() => number) | null;
  /** The steering records. Default: none. */
  readonly steering?: SharedRecordsReader;
  /** Headers, bodies and metadata that explain answers. Default: none. */
  readonly additions?: ResponseAdditions;
  /** Receives the duration and the size of some batches. Default: nothing is measured for it. */
  readonly figures?: BatchFigures;
  /** Traces the calls of the store. Default: they are not traced. */
  readonly storeSpans?: StoreSpans;
  /** Default: none. */
  readonly observers?: readonly BatchObserver[];
}

/** Decides whole batches: plan, one call of the store, evaluate, answer. */
export class Engine {
  readonly #parts: EngineParts;
  readonly #planner: Planner;
  readonly #evaluator: Evaluator;
  /** The last response that was encoded. */
  #response: Uint8Array = NO_BYTES;
  /** Its `Retry-After`, if its front answers refused callers itself; else 0. */
  #retryAfterS = 0;
  /** Null if all answers contain values of their requests. */
  readonly #keptRefusals: KeptRefusals | null;
  readonly #out = new ByteWriter(4_096);
  readonly #views = new ReusedViews();

  constructor(parts: EngineParts) {
    const { options, overLimit, random, counters } = parts;
    const jitterS = options.expirationJitterMaxSeconds;
    this.#parts = parts;
    this.#keptRefusals = options.dynamicMetadata ? null : new KeptRefusals();
    this.#planner = new Planner({
      cacheKeys: new CacheKeys(options.cacheKeyPrefix),
      overLimit,
      holdsBack: options.holdBack,
      steering: counters,
      expiryJitterS: jitterS > 0 ? () => Math.floor(random() * jitterS) : () => 0,
    });
    this.#evaluator = new Evaluator(options.nearLimitRatio, overLimit, options.uncounted ?? 'refuse');
  }

  /**
   * Decides all requests of the batch with one set of rules and answers them in order. Returns nothing with the embedded
   * store, else a promise that never rejects. Every request is answered or refused exactly once. Without rules, every
   * request is refused.
   */
  run(batch: DecisionBatch, generation: RuleGeneration | null): void | Promise<void> {
    const { clock } = this.#parts;
    const beganMs = this.#measure(batch);
    batch.nowMs = Math.floor(clock.nowMs());
    batch.nowS = Math.floor(batch.nowMs / 1_000);
    batch.spentMs = 0;
    batch.figuresFromMs = this.#parts.figures?.isDue(batch.nowMs) ? performance.now() : 0;
    batch.storeMs = 0;
    generation?.begin();
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
      (failure: unknown) => this.#failCounted(batch, generation, failure),
    );
  }

  /** Plans the batch, and calls the store if there is anything to count. */
  #plan(batch: DecisionBatch, generation: RuleGeneration | null): void | Promise<void> {
    const { store, options, steering } = this.#parts;
    const { counters } = batch;
    batch.decode();
    counters.secondsApart = store.secondsApart === true;
    this.#planner.plan(batch, generation, steering === undefined ? null : steering.at(batch.nowMs));
    if (counters.opCount === 0) return;
    const fromMs = batch.figuresFromMs === 0 ? 0 : performance.now();
    const counting = countBatch(store, counters, options.holdBack);
    if (fromMs === 0) return counting;
    const counted = () => {
      batch.storeMs = performance.now() - fromMs;
    };
    return counting === undefined ? counted() : counting.finally(counted);
  }

  #answerAll(batch: DecisionBatch, generation: RuleGeneration | null, beganMs: number): void {
    this.#traceCall(batch);
    // A store that has failed may have counted the refunds nevertheless.
    this.#markRefunds(batch);
    for (let request = 0; request < batch.size; request++) {
      let fault = batch.faults[request];
      let overLimit = false;
      try {
        fault ??= this.#evaluator.evaluate(batch, request);
        // Without a generation, every request has a fault.
        if (fault === null) overLimit = this.#encode(batch, request, generation!);
      } catch (failure) {
        fault = this.#defect(failure);
      }
      if (fault === null) this.#answer(batch, request, overLimit);
      else {
        batch.faults[request] = fault;
        this.#refuse(batch, request, fault);
      }
    }
    if (batch.figuresFromMs > 0) {
      const durationMs = performance.now() - batch.figuresFromMs;
      this.#parts.figures?.record(batch.size, durationMs, batch.storeMs);
    }
    if (generation !== null) this.#observe(batch, generation);
    // Last, because evaluating counts in the generation, and a generation without batches may be discarded.
    generation?.end();
    batch.spentMs += this.#measure(batch) - beganMs;
  }

  #observe(batch: DecisionBatch, generation: RuleGeneration): void {
    recordFullness(batch, generation);
    for (const observer of this.#parts.observers ?? NO_OBSERVERS) {
      try {
        observer.observe(batch, generation);
      } catch (failure) {
        this.#parts.logger.error('Could not record decisions (this is a bug; please report it)', {
          error: asError(failure).stack,
        });
      }
    }
  }

  #traceCall({ counters, replies }: DecisionBatch): void {
    if (counters.timedCall !== null) this.#parts.storeSpans?.called(replies, counters.timedCall);
  }

  #markRefunds({ counters }: DecisionBatch): void {
    const { overLimit } = this.#parts;
    if (overLimit !== null) markRefunds(counters, overLimit.marks);
  }

  /** The current time if the batch is measured, else 0. */
  #measure(batch: DecisionBatch): number {
    const { nowMs } = this.#parts;
    return nowMs === null || batch.size < LEAST_MEASURED ? 0 : nowMs();
  }

  /** The store has failed. Requests that it was not asked about are answered as if it had not. */
  #failCounted(batch: DecisionBatch, generation: RuleGeneration | null, failure: unknown): void {
    const { counters, faults, asksStore } = batch;
    const fault = failure instanceof Fault ? failure : this.#defect(failure);
    for (let request = 0; request < batch.size; request++) if (asksStore[request]) faults[request] ??= fault;
    counters.opAfters.fill(Number.NaN, 0, counters.opCount);
    this.#answerAll(batch, generation, this.#measure(batch));
  }

  #failAll(batch: DecisionBatch, generation: RuleGeneration | null, failure: unknown): void {
    this.#traceCall(batch);
    // The store may have counted the refunds nevertheless.
    this.#markRefunds(batch);
    generation?.end();
    const fault = failure instanceof Fault ? failure : this.#defect(failure);
    const decoded = batch.requests.requestCount;
    for (let request = 0; request < batch.size; request++) {
      // The faults of requests that were not decoded are from an earlier batch.
      this.#refuse(batch, request, (request < decoded ? batch.faults[request] : null) ?? fault);
    }
  }

  /** Sets the response. Returns true if it is over limit. */
  #encode(batch: DecisionBatch, request: number, generation: RuleGeneration): boolean {
    const { options, counters } = this.#parts;
    const { rules } = generation;
    let overall = overallCode(batch, request, options.modes);
    if (overall === CODE.overLimit && options.modes.shadow) {
      overall = CODE.ok;
      counters.globalShadowMode.add(1);
    }
    if (overall === CODE.ok) {
      this.#write(batch, request, rules, overall);
      return false;
    }
    const kept = this.#keptRefusals?.find(batch, request, rules) ?? null;
    if (kept === null) {
      this.#write(batch, request, rules, overall);
      const answer = { rules, bytes: this.#response, retryAfterS: this.#retryAfterS };
      this.#keptRefusals?.keep(batch, request, answer);
    } else {
      this.#response = kept.bytes;
      this.#retryAfterS = kept.retryAfterS;
    }
    return true;
  }

  /** Encodes the response. */
  #write(batch: DecisionBatch, request: number, rules: CompiledRules, overall: number): void {
    const { options, additions } = this.#parts;
    const response: Response = {
      batch,
      request,
      rules,
      overallCode: overall,
      reported: options.headerNames === null ? -1 : reportedDescriptor(batch, request, options.modes),
      headerNames: options.headerNames,
      hasUnitHeaders: options.unitHeaders === true,
      metadata: options.dynamicMetadata ? dynamicMetadata(batch, request, rules) : null,
      additions: null,
    };
    this.#retryAfterS = 0;
    const format = batch.formats[request];
    if (additions?.areEnabled(rules, format)) this.#add(response, additions);
    const out = this.#out;
    out.reset();
    if (format === 'json') writeJsonResponse(out, response);
    else if (format === 'http') writeHttpResponse(out, headerPairs(response), response.additions);
    else writeProtobufResponse(out, response);
    this.#response = this.#views.of(out.bytes, out.length);
  }

  /** Adds the headers, the body and the matched rule that the settings or the domain enable. */
  #add(response: Response, source: ResponseAdditions): void {
    const { batch, request, rules, metadata } = response;
    const isRefused = response.overallCode === CODE.overLimit;
    const additions = source.of({ batch, request, rules, isRefused });
    if (additions === null) return;
    const { encoded, retryAfterS, matchedRule } = additions;
    response.additions = encoded;
    if (batch.formats[request] === 'json') this.#retryAfterS = retryAfterS;
    if (metadata !== null && matchedRule !== null)
      response.metadata = { ...metadata, matched_rule: matchedRule };
  }

  /** Passes the response to the reply. If the reply throws, the rest of the batch is still answered. */
  #answer(batch: DecisionBatch, request: number, overLimit: boolean): void {
    try {
      batch.replies[request].answered(this.#response, overLimit, this.#retryAfterS);
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

  /** As in envoyproxy/ratelimit, a request that cannot be decoded is not counted. */
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
    return new Fault('internal', 'the response could not be created; see the log of the service', { cause });
  }
}
