import type { Clock } from '../../base/clock.ts';
import { LOG_LEVELS, type Logger } from '../../base/logger.ts';
import { busyShare } from '../../base/threads/inside-thread.ts';
import type { StoreSpans } from '../../decision/batch-observer.ts';
import type { EngineCounters } from '../../decision/engine.ts';
import type { Seats } from '../../decision/hot-keys/seats.ts';
import { LastingDecidingThreads } from '../../decision/pool/deciding-threads.ts';
import { DecisionPool, type DecisionPoolParts } from '../../decision/pool/decision-pool.ts';
import { Placement } from '../../decision/pool/placement.ts';
import type { RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { DecisionLog } from '../decision-log/decision-log.ts';
import type { OverLimitFigures } from '../statistics/over-limit-figures.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { StoreHealth } from '../stores/store-health.ts';
import { createStoreSpans } from '../tracing/store-spans.ts';
import type { DecisionThreadSetup } from './decision-thread.ts';
import { ThreadEvents } from './thread-events.ts';

interface DecisionThreadsParts {
  readonly settings: Settings;
  readonly store: OpenedStore;
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
  /** Memory of `BatchFigures`. */
  readonly batchFigures: SharedArrayBuffer;
  /** Name of the channel that tells the rehearsal; see `RehearsalPublisher`. */
  readonly rehearsal: string;
  readonly statistics: RuleStatistics;
  readonly counters: EngineCounters;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitFigures | null;
  readonly stats: StatsRegistry;
  readonly storeHealth: StoreHealth;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLog | null;
  /** Null if hot keys are disabled. */
  readonly hotKeys: Seats | null;
  /** Traces the calls of the store. Defaults to what the settings say. */
  readonly storeSpans?: StoreSpans;
  /** Decides which batches the pool takes. Defaults to {@link Placement}, which uses measurements. */
  readonly placement?: DecisionPoolParts['placement'];
  readonly clock: Clock;
  /** Returns a random number, 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** The decision threads, and the pool that distributes batches to them. */
export interface DecisionThreads {
  readonly threads: LastingDecidingThreads;
  readonly pool: DecisionPool;
}

/** Creates the decision threads that the settings ask for, without starting them. */
export function createDecisionThreads(parts: DecisionThreadsParts): DecisionThreads {
  const { settings, store, steering, stats, overLimit, clock, random, logger } = parts;
  const { fingerprintKey, memory, refundMarks } = store;
  const setup: DecisionThreadSetup = {
    settings,
    store: { fingerprintKey, memory, refundMarks },
    decisionLog: parts.decisionLog?.sharing ?? null,
    steering,
    batchFigures: parts.batchFigures,
    rehearsal: parts.rehearsal,
    hotKeys: parts.hotKeys?.buffers ?? null,
    logLevels: LOG_LEVELS.filter(level => logger.enabled(level)),
  };
  const events = new ThreadEvents(parts);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = new LastingDecidingThreads({
    module: new URL(`../../../workers/decide.${extension}`, import.meta.url),
    count: settings.workerThreads,
    workerData: () => setup,
    lost: stats.counter('ratelimit.service.worker_threads_lost'),
    received: message => events.received(message),
    exited: threadId => events.ended(threadId),
    clock,
    random,
    logger,
  });
  stats.gauge('ratelimit.service.worker_threads', () => threads.ready);
  const nowMs = (): number => performance.now();
  const pool = new DecisionPool({
    threads,
    placement: parts.placement ?? new Placement({ nowMs, busyShare: busyShare() }),
    statistics: parts.statistics,
    counters: parts.counters,
    pooled: stats.counter('ratelimit.service.worker_threads_requests'),
    overLimitChanged: delta => overLimit?.changed(delta),
    ...(settings.tracingEnabled && { storeSpans: parts.storeSpans ?? createStoreSpans(settings) }),
    clock,
    nowMs,
    logger,
  });
  return { threads, pool };
}
