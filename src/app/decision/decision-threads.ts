import { busyShare } from '../../base/threads/inside-thread.ts';
import { workerModule } from '../../base/threads/same-build.ts';
import type { StoreSpans } from '../../decision/batch-observer.ts';
import { LastingDecidingThreads } from '../../decision/pool/deciding-threads.ts';
import { DecisionPool } from '../../decision/pool/decision-pool.ts';
import { Placement } from '../../decision/pool/placement.ts';
import type { RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { Surroundings } from '../surroundings.ts';
import { createStoreSpans } from '../tracing/store-spans.ts';
import { engineCounters } from './create-batcher.ts';
import type { DecidingSetup } from './deciding.ts';
import type { ThreadEvents } from './thread-events.ts';

interface PoolOptions {
  /** Traces the calls of the store. Defaults to what the settings say. */
  readonly storeSpans?: StoreSpans;
  /** Decides which batches the pool takes. Defaults to {@link Placement}, which uses measurements. */
  readonly placement?: ConstructorParameters<typeof DecisionPool>[0]['placement'];
}

/** The decision threads, and the pool that distributes batches to them. */
interface DecisionThreads {
  readonly threads: LastingDecidingThreads;
  readonly pool: DecisionPool;
}

/** Creates the decision threads that the settings ask for, without starting them. */
export function createDecisionThreads(
  { settings, stats, clock, random, logger }: Surroundings,
  setup: DecidingSetup,
  statistics: RuleStatistics,
  events: ThreadEvents,
  options: PoolOptions = {},
): DecisionThreads {
  const threads = new LastingDecidingThreads({
    module: workerModule('decide'),
    count: settings.workerThreads,
    workerData: () => setup,
    lost: stats.counter('ratelimit.service.worker_threads_lost'),
    received: (threadId, message) => events.received(threadId, message),
    exited: threadId => events.ended(threadId),
    clock,
    random,
    logger,
  });
  stats.gauge('ratelimit.service.worker_threads', () => threads.ready);
  const nowMs = (): number => performance.now();
  const pool = new DecisionPool({
    threads,
    placement: options.placement ?? new Placement(nowMs, busyShare()),
    statistics,
    counters: engineCounters(stats),
    pooled: stats.counter('ratelimit.service.worker_threads_requests'),
    overLimitChanged: delta => events.overLimitChanged(delta),
    ...(settings.tracingEnabled && { storeSpans: options.storeSpans ?? createStoreSpans(settings) }),
    clock,
    nowMs,
    logger,
  });
  return { threads, pool };
}
