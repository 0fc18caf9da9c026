import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Outage, OutageLog, type OutageTexts } from '../../src/base/outage-log.ts';
import type { ClientTls } from '../../src/base/tls/client-tls.ts';
import { memcachedCounters } from '../../src/counters/memcached/count-exchanges.ts';
import { MemcachedCounterStore } from '../../src/counters/memcached/memcached-store.ts';
import { MemcachedNodes, type NodeSource } from '../../src/counters/memcached/nodes.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { StoreCalls } from '../../src/counters/store-calls.ts';
import { memcachedAddresses } from '../../src/settings/groups/memcached.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import { KeepingLogger } from './keeping-logger.ts';

export interface MemcachedStoreOptions {
  readonly connections?: number;
  readonly tls?: ClientTls;
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly logger?: KeepingLogger;
  readonly stats?: StatsRegistry;
}

/** A store on the nodes of a list, as `ALTCACHE_HOST_PORT` takes it, or of another source; not yet started. */
export function memcachedStore(
  source: string | NodeSource,
  options: MemcachedStoreOptions = {},
): MemcachedCounterStore {
  const { clock = systemClock, logger = new KeepingLogger(), stats = new StatsRegistry() } = options;
  const texts: OutageTexts = {
    level: 'error',
    began: 'memcached is unavailable',
    beganAtStart: 'memcached is unavailable at start',
    over: 'memcached is available again',
    fields: {},
  };
  const outage = new Outage(texts, new OutageLog({ clock, logger }), clock);
  const nodes = new MemcachedNodes(
    typeof source === 'string' ? { addresses: memcachedAddresses(source) } : source,
    {
      connections: options.connections ?? 2,
      tls: options.tls ?? null,
      timeoutMs: options.timeoutMs ?? 10_000,
      outage,
      clock,
      logger,
      random: () => 0,
    },
  );
  return new MemcachedCounterStore({
    nodes,
    counters: memcachedCounters(stats),
    calls: new StoreCalls(stats, 'memcached'),
    outage,
    countsFailedCalls: true,
    clock,
    logger,
  });
}

/** The same store for those who wait: a batch is done when its hits are added as well. */
export function settledStore(store: MemcachedCounterStore): CounterStore {
  const settled = async (counting: Promise<void>): Promise<void> => {
    await counting;
    await store.settled();
  };
  return {
    name: store.name,
    start: () => store.start(),
    stop: () => store.stop(),
    increment: batch => settled(store.increment(batch)),
    read: batch => store.read(batch),
    reset: batch => settled(store.reset(batch)),
    incrementHoldingBack: batch => settled(store.incrementHoldingBack(batch)),
  };
}
