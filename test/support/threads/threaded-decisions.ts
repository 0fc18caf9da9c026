import type { Test } from 'tap';
import { engineCounters } from '../../../src/app/decision/create-batcher.ts';
import type { DecidingSetup } from '../../../src/app/decision/deciding.ts';
import { createDecisionThreads } from '../../../src/app/decision/decision-threads.ts';
import { engineOptions, openOverLimitCache } from '../../../src/app/decision/engine-settings.ts';
import { ThreadEvents } from '../../../src/app/decision/thread-events.ts';
import { OverLimitFigures } from '../../../src/app/statistics/over-limit-figures.ts';
import type { StoreFactory } from '../../../src/app/stores/opened-store.ts';
import { StoreHealth } from '../../../src/app/stores/store-health.ts';
import { loadStoreFactory } from '../../../src/app/stores/stores.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Health } from '../../../src/base/health.ts';
import { OutageLog } from '../../../src/base/outage-log.ts';
import type { TimedCall } from '../../../src/counters/timed-call.ts';
import { Batcher } from '../../../src/decision/batching/batcher.ts';
import { Engine } from '../../../src/decision/engine.ts';
import { BatchFigures } from '../../../src/decision/statistics/batch-figures.ts';
import { RuleGeneration, RuleStatistics } from '../../../src/decision/statistics/rule-statistics.ts';
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
} from '../../../src/messages/client-codec.ts';
import { RehearsalPublisher } from '../../../src/rehearsal/rehearsal-channel.ts';
import { compileRules } from '../../../src/rules/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import type { Settings } from '../../../src/settings/table.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { load } from '../../unit/rules/parse/rule-text.ts';
import { refund, request } from '../decisions.ts';
import { KeepingLogger } from '../keeping-logger.ts';

/** The limit of the rule `a`: more hits than a test makes. */
export const PER_DAY = 1_000_000;
const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: ${PER_DAY}}}
  - {key: few, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: named, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: ${PER_DAY}}}
`;

/** Knows which threads have reported an outage of their store. */
class RecordingHealth extends StoreHealth {
  readonly threads: (number | undefined)[] = [];

  override began(...began: Parameters<StoreHealth['began']>): void {
    this.threads.push(began[3]);
    super.began(...began);
  }
}

/** What the service puts together for decisions, with every batch left to the threads. */
export class ThreadedDecisions {
  readonly stats = new StatsRegistry();
  readonly logger = new KeepingLogger();
  readonly health = new Health();
  readonly statistics = new RuleStatistics();
  readonly batcher: Batcher;
  /** Decides in this thread. */
  readonly here: Batcher;
  readonly threads: ReturnType<typeof createDecisionThreads>['threads'];
  readonly store: ReturnType<StoreFactory>;
  /** Numbers of the threads that have reported an outage of their store. */
  readonly threadsWithOutage: readonly (number | undefined)[];
  /** Calls of the store that the threads have reported, if tracing is enabled. */
  readonly storeCalls: { readonly requests: number; readonly call: TimedCall }[] = [];
  /** Calls that were answered more than once. */
  answeredAgain = 0;

  constructor(settings: Settings, createStore: StoreFactory) {
    const { stats, logger, statistics } = this;
    const log = new OutageLog({ clock: systemClock, logger });
    const storeHealth = new RecordingHealth(this.health, true, log);
    this.threadsWithOutage = storeHealth.threads;
    stats.addSource(statistics);
    const parts = {
      settings,
      logger,
      clock: systemClock,
      random: Math.random,
      stats,
    };
    this.store = createStore({
      ...parts,
      outages: storeHealth,
      connectionsChanged: connected => storeHealth.connectionsChanged(connected),
    });
    const counters = engineCounters(stats);
    const overLimit = openOverLimitCache(settings, systemClock, this.store);
    const figures = overLimit === null ? null : new OverLimitFigures(overLimit, stats);
    const { fingerprintKey, memory, refundMarks } = this.store;
    const setup: DecidingSetup = {
      settings,
      store: { fingerprintKey, memory, refundMarks },
      decisionLog: null,
      steering: null,
      batchFigures: BatchFigures.create().buffer,
      hotKeys: null,
    };
    const events = new ThreadEvents(
      { stats, statistics, rehearsal: new RehearsalPublisher() },
      this.store,
      storeHealth,
      figures,
      null,
    );
    const { threads, pool } = createDecisionThreads(parts, setup, statistics, events, {
      storeSpans: { called: (replies, call) => this.storeCalls.push({ requests: replies.length, call }) },
      placement: { isForPool: () => true, decidedHere: () => {}, decidedInPool: () => {} },
    });
    this.threads = threads;
    const engine = new Engine({
      ...parts,
      options: engineOptions(settings),
      store: this.store.store,
      overLimit,
      counters,
      nowMs: null,
    });
    const batching = {
      engine,
      named: statistics,
      fingerprintKey: this.store.fingerprintKey,
      maxQueued: 100_000,
      window: null,
      earlyRequests: 64,
      serviceError: counters.serviceError,
      batchSizes: stats.timer('ratelimit.batch.requests'),
    };
    this.batcher = new Batcher({ ...batching, pool });
    this.here = new Batcher({ ...batching, pool: null });
    this.publish();
  }

  publish(): void {
    const generation = new RuleGeneration(new CompiledRules(compileRules(load(RULES))));
    this.statistics.publish(generation);
    this.batcher.use(generation);
    this.here.use(generation);
  }

  /** What remains of the limit, or why there is no answer. */
  ask(descriptor: string): Promise<number | string> {
    return this.#askOf(this.batcher, request('d', descriptor));
  }

  /** The same, decided in this thread. */
  askHere(descriptor: string): Promise<number | string> {
    return this.#askOf(this.here, request('d', descriptor));
  }

  /** Gives hits back in this thread; what remains then. */
  giveBack(hits: number, descriptor: string): Promise<number | string> {
    return this.#askOf(this.here, refund('d', hits, descriptor));
  }

  #askOf(batcher: Batcher, asked: RateLimitRequest): Promise<number | string> {
    return new Promise(resolve => {
      let answers = 0;
      const answer = (text: number | string): void => {
        if (answers++ > 0) this.answeredAgain++;
        resolve(text);
      };
      batcher.decide(encodeRateLimitRequest(asked), 'protobuf', {
        gone: false,
        answered: response => answer(decodeRateLimitResponse(response).statuses[0].limitRemaining),
        refused: fault => answer(fault.code),
      });
    });
  }

  /** Asks in bursts, each a batch or several, with a turn of the event loop between them. */
  async askBursts(bursts: number, size: number, descriptor: (i: number) => string) {
    const asked: Promise<number | string>[] = [];
    for (let burst = 0; burst < bursts; burst++) {
      for (let i = 0; i < size; i++) asked.push(this.ask(descriptor(burst * size + i)));
      await new Promise(resolve => setImmediate(resolve));
    }
    return Promise.all(asked);
  }

  counter(name: string): number {
    return new Map(this.stats.counters()).get(name) ?? 0;
  }

  rule(name: string): number {
    return this.counter(`ratelimit.service.rate_limit.${name}`);
  }

  gauge(name: string): number | undefined {
    return this.stats.gauges().get(name);
  }
}

/** Starts them on two threads, and waits until both decide. */
export async function startThreaded(
  t: Test,
  env: Readonly<Record<string, string>> = {},
): Promise<ThreadedDecisions> {
  const settings = loadSettings({ WORKER_THREADS: '2', ...env });
  const made = new ThreadedDecisions(settings, await loadStoreFactory(settings));
  t.teardown(async () => {
    await made.threads.stop();
    await made.store.stop();
  });
  await made.store.start();
  await made.threads.start();
  await made.threads.whenReady(2);
  return made;
}
