import { within } from '../../base/clock.ts';
import { THREAD_LOOP } from '../../base/event-loop.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import { BatchWindow } from '../../decision/batching/batch-window.ts';
import { Batcher, type BatchPool, type GenerationSource } from '../../decision/batching/batcher.ts';
import type { QueueBounds } from '../../decision/batching/queue-room.ts';
import type { EngineCounters } from '../../decision/engine.ts';
import type { OverLimitCache } from '../../decision/over-limit-cache.ts';
import type { NamedStatistics } from '../../decision/statistics/named-rows.ts';
import type { QuotaDesk } from '../../quota/quota-desk.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { Surroundings } from '../surroundings.ts';
import { createStoreSpans } from '../tracing/store-spans.ts';
import { type DecidingSetup, openEngine } from './deciding.ts';

/** Batches of this size cost the embedded store little more for each request than larger ones, which are answered later. */
const EARLY_IN_PROCESS = 16;

/** A store server works on such a batch while the rest of the turn is read. Smaller ones cost more calls than that saves. */
const EARLY_FOR_SERVER = 64;

/** What the batcher of each thread has for itself. */
interface OwnParts {
  readonly store: OpenedStore;
  /** The statistics with names made from request values. */
  readonly named: NamedStatistics;
  /** The local cache of this thread; null if it is disabled. */
  readonly overLimit: OverLimitCache | null;
  readonly observers: readonly BatchObserver[];
  /** Null if this thread decides everything. */
  readonly pool: BatchPool | null;
  /** The rules of each batch. Without it, `Batcher.use` sets them. */
  readonly rules?: GenerationSource;
  /** If other threads have a queue as well: the bounds of all queues together. */
  readonly sharedBounds?: QueueBounds;
}

/** Creates the decision engine of a thread that has connections, and the batcher that feeds it. */
export function createBatcher(thread: Surroundings, setup: DecidingSetup, own: OwnParts): Batcher {
  const { settings, stats, clock } = thread;
  const { store, overLimit, observers, pool, rules, sharedBounds } = own;
  const counters = engineCounters(stats);
  const engine = openEngine(thread, setup, {
    store: store.store,
    overLimit,
    counters,
    clock,
    nowMs: pool === null ? null : THREAD_LOOP.nowMs,
    observers,
    ...(settings.tracingEnabled && { storeSpans: createStoreSpans(settings) }),
  });
  const batcher = new Batcher({
    engine,
    ...(rules !== undefined && { rules }),
    ...(sharedBounds !== undefined && { sharedBounds }),
    pool,
    named: own.named,
    window: openBatchWindow(settings),
    earlyRequests: settings.backendType === 'embedded' ? EARLY_IN_PROCESS : EARLY_FOR_SERVER,
    fingerprintKey: store.fingerprintKey,
    maxQueued: settings.maxQueuedDecisions,
    serviceError: counters.serviceError,
    batchSizes: stats.timer('ratelimit.batch.requests'),
  });
  stats.gauge('ratelimit.queue.requests', () => batcher.pending);
  // The bound of all threads together, so only the primary thread shows it.
  if (rules === undefined) stats.gauge('ratelimit.queue.limit', () => settings.maxQueuedDecisions);
  return batcher;
}

/**
 * Waits until all requests are decided, and until quotas are paid for, or until the time for the shutdown is over. The
 * store must stay open until then: callers that gave up leave decisions behind when ports close.
 */
export async function decided(
  batcher: Batcher,
  quotas: QuotaDesk | null,
  boundMs: number,
  { clock, logger }: Pick<Surroundings, 'clock' | 'logger'>,
): Promise<void> {
  await within(clock, boundMs, Promise.all([batcher.drained(), quotas?.idle()]));
  const requests = batcher.pending;
  if (requests > 0)
    logger.warning('Shutdown timeout: the store has not answered some requests', { requests });
}

/** The counters of the engine, by the names of envoyproxy/ratelimit. */
export function engineCounters(stats: StatsRegistry): EngineCounters {
  const ofCalls = 'ratelimit.service.call.should_rate_limit.';
  return {
    storeError: stats.counter(`${ofCalls}redis_error`),
    serviceError: stats.counter(`${ofCalls}service_error`),
    cancelled: stats.counter(`${ofCalls}cancelled`),
    globalShadowMode: stats.counter('ratelimit.service.global_shadow_mode'),
    banned: stats.counter('ratelimit.service.steering.banned'),
    passed: stats.counter('ratelimit.service.steering.passed'),
  };
}

/** Batches are held back only for Redis. Counters in this process gain nothing from larger batches. */
function openBatchWindow(settings: Settings): BatchWindow | null {
  const lengthMs = Math.max(
    settings.redisPipelineWindowMs,
    settings.redisPerSecond ? settings.redisPerSecondPipelineWindowMs : 0,
  );
  if (settings.backendType !== 'redis' || lengthMs === 0) return null;
  return new BatchWindow(lengthMs);
}
