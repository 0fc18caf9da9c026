import type { Fault } from '../../src/base/fault.ts';
import type { RefundMarks } from '../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { AnswerAdditions } from '../../src/decision/answers/additions.ts';
import type { BatchObserver } from '../../src/decision/batch-observer.ts';
import type { BatchWindow } from '../../src/decision/batching/batch-window.ts';
import { Batcher, type GenerationSource } from '../../src/decision/batching/batcher.ts';
import type { QueueBounds } from '../../src/decision/batching/queue-room.ts';
import type { ResponseFormat } from '../../src/decision/decider.ts';
import { Engine, type EngineCounters, type EngineOptions } from '../../src/decision/engine.ts';
import { Explainer } from '../../src/decision/explain/explain.ts';
import type { Explanation } from '../../src/decision/explain/explain-descriptor.ts';
import { OverLimitCache } from '../../src/decision/over-limit-cache.ts';
import { DecisionPool } from '../../src/decision/pool/decision-pool.ts';
import type { BatchFigures } from '../../src/decision/statistics/batch-figures.ts';
import { RuleGeneration, RuleStatistics } from '../../src/decision/statistics/rule-statistics.ts';
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
  type RateLimitResponse,
  type RequestDescriptor,
} from '../../src/messages/client-codec.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { type LoadSettings, loadRuleSet } from '../../src/rules/parse/load.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import { SharedRecordsReader } from '../../src/steering/shared-records.ts';
import { KeepingLogger } from './keeping-logger.ts';
import { ManualClock } from './manual-clock.ts';
import { threadsFor } from './pooled.ts';
import { TEST_FINGERPRINT_KEY } from './stores.ts';

/** Options that add nothing to what rules say. */
export const PLAIN_OPTIONS: EngineOptions = {
  cacheKeyPrefix: '',
  expirationJitterMaxSeconds: 0,
  nearLimitRatio: 0.8,
  holdBack: false,
  modes: { shadow: false, quota: false },
  headerNames: null,
  dynamicMetadata: false,
};

/** The statistics of an engine, by their names in the service. */
export function engineCounters(stats: StatsRegistry): EngineCounters {
  return {
    storeError: stats.counter('ratelimit.service.call.should_rate_limit.redis_error'),
    serviceError: stats.counter('ratelimit.service.call.should_rate_limit.service_error'),
    cancelled: stats.counter('ratelimit.service.call.should_rate_limit.cancelled'),
    globalShadowMode: stats.counter('ratelimit.service.global_shadow_mode'),
    banned: stats.counter('ratelimit.service.steering.banned'),
    passed: stats.counter('ratelimit.service.steering.passed'),
  };
}

export interface DecisionSetup {
  readonly store: CounterStore;
  /** Rule files: one text, or texts by file name; null for none loaded yet. */
  readonly rules: string | Readonly<Record<string, string>> | null;
  readonly options?: Partial<EngineOptions>;
  /** Size of the local cache; 0, the default, for none. */
  readonly localCacheBytes?: number;
  /** The marks of refunds for the local cache, if others refund as well. */
  readonly marks?: RefundMarks;
  /** Requests that may wait; 100 000 unless given. */
  readonly maxQueued?: number;
  /** If other threads have queues. */
  readonly sharedBounds?: QueueBounds;
  /** 1 700 000 000 s after the epoch unless given. */
  readonly nowMs?: number;
  readonly random?: () => number;
  /** Holds batches back; none unless given. */
  readonly window?: Pick<BatchWindow, 'open' | 'shut'>;
  /** Rules that another thread publishes; `rules` has no effect then. */
  readonly generations?: GenerationSource;
  readonly observers?: readonly BatchObserver[];
  /** Receives durations of batches. */
  readonly figures?: BatchFigures;
  /** Memory of the steering records. */
  readonly steering?: SharedArrayBuffer;
}

/** Everything between a front and a store, with a clock that stands still: asks for decisions and reads statistics. */
export class Decisions {
  readonly clock: ManualClock;
  readonly stats = new StatsRegistry();
  readonly logger = new KeepingLogger();
  readonly batcher: Batcher;
  readonly statistics = new RuleStatistics();
  readonly #explainer: Explainer;
  readonly #answers: number;
  #rules: CompiledRules | null = null;

  constructor(setup: DecisionSetup) {
    this.clock = new ManualClock(setup.nowMs ?? 1_700_000_000_000);
    this.stats.addSource(this.statistics);
    const cacheBytes = setup.localCacheBytes ?? 0;
    const options = { ...PLAIN_OPTIONS, ...setup.options };
    const counters = engineCounters(this.stats);
    const engine = new Engine({
      options,
      additions: new AnswerAdditions(options),
      store: setup.store,
      overLimit: cacheBytes === 0 ? null : new OverLimitCache(cacheBytes, this.clock, setup.marks),
      counters,
      clock: this.clock,
      logger: this.logger,
      random: setup.random ?? (() => 0),
      nowMs: null,
      ...(setup.observers !== undefined && { observers: setup.observers }),
      ...(setup.figures !== undefined && { figures: setup.figures }),
      ...(setup.steering !== undefined && { steering: new SharedRecordsReader(setup.steering) }),
    });
    this.batcher = new Batcher({
      engine,
      pool: this.#pool(setup, options, counters),
      named: this.statistics,
      window: setup.window ?? null,
      earlyRequests: 64,
      ...(setup.generations !== undefined && { rules: setup.generations }),
      fingerprintKey: TEST_FINGERPRINT_KEY,
      maxQueued: setup.maxQueued ?? 100_000,
      ...(setup.sharedBounds !== undefined && { sharedBounds: setup.sharedBounds }),
      serviceError: counters.serviceError,
      batchSizes: this.stats.timer('ratelimit.batch.requests'),
    });
    this.#answers = options.answers ?? 0;
    this.#explainer = new Explainer({
      options: { ...PLAIN_OPTIONS, ...setup.options },
      store: setup.store,
      fingerprintKey: TEST_FINGERPRINT_KEY,
      rules: () => this.#rules,
      marks: null,
      ...(setup.steering !== undefined && { steering: new SharedRecordsReader(setup.steering) }),
      clock: this.clock,
      logger: this.logger,
    });
    if (setup.rules !== null) this.load(setup.rules);
  }

  /** Where the store is one that another thread counts in, that one decides everything; else there is no pool. */
  #pool(setup: DecisionSetup, options: EngineOptions, counters: EngineCounters): DecisionPool | null {
    const { steering, localCacheBytes = 0 } = setup;
    const threads = threadsFor(setup.store, { options, localCacheBytes, ...(steering && { steering }) });
    // Randomness cannot be handed to another thread.
    if (threads === null || setup.random !== undefined) return null;
    return new DecisionPool({
      threads,
      placement: { isForPool: () => true, decidedHere: () => {}, decidedInPool: () => {} },
      statistics: this.statistics,
      counters,
      pooled: { add: () => {} },
      overLimitChanged: () => {},
      clock: this.clock,
      nowMs: () => performance.now(),
      logger: this.logger,
    });
  }

  /** Null before the first ones are loaded. */
  get rules(): CompiledRules | null {
    return this.#rules;
  }

  /** Puts other rules into force. */
  load(
    rules: string | Readonly<Record<string, string>>,
    options: LoadSettings = { mergeDomains: false },
  ): void {
    const texts = typeof rules === 'string' ? { 'rules.yaml': rules } : rules;
    const files = Object.entries(texts).map(([name, text]) => ({ name, content: Buffer.from(text) }));
    this.#rules = new CompiledRules(
      compileRules(loadRuleSet(files, options), { ...options, answers: this.#answers }),
    );
    const generation = new RuleGeneration(this.#rules);
    this.statistics.publish(generation);
    this.batcher.use(generation);
  }

  /** The decision on a request, over the protobuf encoding. Rejects with the Fault of a refusal. */
  async ask(request: RateLimitRequest): Promise<RateLimitResponse> {
    const { response } = await this.askBytes(encodeRateLimitRequest(request), 'protobuf');
    return decodeRateLimitResponse(response);
  }

  /** What the decision would be, and why. Rejects with the Fault of a refusal. */
  explain(request: RateLimitRequest): Promise<Explanation> {
    return this.#explainer.explain(encodeRateLimitRequest(request));
  }

  /** What the leases of its limits are. */
  listLeases(request: RateLimitRequest, most = 100): Promise<Explanation> {
    return this.#explainer.explainLeases(encodeRateLimitRequest(request), most);
  }

  /** Resets the counters of a request. What they were before. */
  reset(request: RateLimitRequest): Promise<Explanation> {
    return this.#explainer.reset(encodeRateLimitRequest(request));
  }

  /** The same in proto3 JSON, as `/json` answers it. */
  async askJson(
    request: RateLimitRequest,
  ): Promise<{ readonly text: string; readonly overLimit: boolean; readonly retryAfterS: number }> {
    const { response, ...rest } = await this.askBytes(encodeRateLimitRequest(request), 'json');
    return { text: Buffer.from(response).toString(), ...rest };
  }

  askBytes(
    request: Uint8Array,
    format: ResponseFormat,
  ): Promise<{ readonly response: Uint8Array; readonly overLimit: boolean; readonly retryAfterS: number }> {
    return new Promise((resolve, reject) => {
      this.batcher.decide(request, format, {
        gone: false,
        answered: (response, overLimit, retryAfterS = 0) =>
          resolve({ response: response.slice(), overLimit, retryAfterS }),
        refused: (fault: Fault) => reject(fault),
      });
    });
  }

  /** Total of a counter by its full name; 0 when it was never counted. */
  counter(name: string): number {
    return new Map(this.stats.counters()).get(name) ?? 0;
  }

  /** The statistics of a rule by metric key, without those that are 0: `{ total_hits: 1, within_limit: 1 }`. */
  rule(metricKey: string): Record<string, number> {
    const prefix = `ratelimit.service.rate_limit.${metricKey}.`;
    const found: Record<string, number> = {};
    for (const [name, total] of this.stats.counters()) {
      if (name.startsWith(prefix) && !name.slice(prefix.length).includes('.'))
        found[name.slice(prefix.length)] = total;
    }
    return found;
  }
}

/** A request of one hit: `request('shop', 'user=ann', 'path=/a,method=GET')`; each text is a descriptor. */
export function request(domain: string, ...descriptors: (string | RequestDescriptor)[]): RateLimitRequest {
  const each = descriptors.map(one => (typeof one === 'string' ? descriptor(one) : one));
  return { domain, descriptors: each, hitsAddend: 0 };
}

/** A request that gives hits of each descriptor back. */
export function refund(domain: string, hits: number, ...descriptors: string[]): RateLimitRequest {
  const own = { hitsAddend: hits, isNegativeHits: true };
  return { domain, descriptors: descriptors.map(text => descriptor(text, own)), hitsAddend: 0 };
}

/** A descriptor from `key=value,key=value` (the value may hold further equals signs), with its own hits or limit. */
export function descriptor(
  text: string,
  own: Partial<Omit<RequestDescriptor, 'entries'>> = {},
): RequestDescriptor {
  const entries = text.split(',').map(pair => {
    const at = pair.indexOf('=');
    return at < 0 ? { key: pair, value: '' } : { key: pair.slice(0, at), value: pair.slice(at + 1) };
  });
  return { entries, limit: null, hitsAddend: null, ...own };
}
