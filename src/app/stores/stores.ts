import type { MessagePort } from 'node:worker_threads';
import { FileLock } from '../../base/files/file-lock.ts';
import type { Outage } from '../../base/outage-log.ts';
import { Fingerprinter, type FingerprintKey } from '../../counters/fingerprint.ts';
import { GuardedStore } from '../../counters/guarded-store.ts';
import { HandedOnStore } from '../../counters/handed-on-store.ts';
import type { KeyServer } from '../../counters/redis/connections/counting-server.ts';
import type { FeedListener } from '../../counters/redis/connections/refund-feed.ts';
import {
  followTopologies,
  openTopologies,
  type Topologies,
} from '../../counters/redis/topology/topologies.ts';
import { RefundMarks } from '../../counters/refund-marks.ts';
import type { CounterStore } from '../../counters/store.ts';
import { TimedStore } from '../../counters/timed-store.ts';
import type { Settings } from '../../settings/table.ts';
import { ownConnections } from './connection-shares.ts';
import { chooseFingerprintKey, createEmbeddedStore, createSnapshotKeeper } from './embedded-store.ts';
import {
  type OpenedStore,
  type StoreFactory,
  type StoreParts,
  type StoreSharing,
  storeOutage,
} from './opened-store.ts';
import { handsOn, ServingLinks } from './serving-links.ts';
import { describeStore } from './store-text.ts';

/**
 * Loads the code of the store selected by the settings. This is the only place that knows all stores. The Redis client
 * takes memory and startup time, which the embedded store does not need.
 */
export async function loadStoreFactory({ backendType }: Settings): Promise<StoreFactory> {
  if (backendType === 'embedded') return parts => openEmbeddedStore(parts, sharingOf(parts));
  if (backendType === 'redis') {
    const { createRedisStore } = await import('./redis-counters.ts');
    return parts => openServerStore(parts, createRedisStore);
  }
  const { createMemcachedStore } = await import('./memcached-store.ts');
  return parts => openServerStore(parts, (each, { guard }) => createMemcachedStore(each, guard));
}

/** Everything that the threads of a process share, except counters in this process. */
function sharingOf({ settings, shared }: StoreParts): Omit<StoreSharing, 'memory'> {
  return {
    fingerprintKey: shared?.fingerprintKey ?? chooseFingerprintKey(settings.memoryStoreSnapshotPath),
    refundMarks: shared === undefined ? openMarks(settings) : shared.refundMarks,
  };
}

type CreateServerStore = (parts: StoreParts, surroundings: StoreSurroundings) => ServerStore;

interface ServerStore extends CounterStore {
  /** Only with Redis. */
  serverOf?(key: string): KeyServer;
}

interface StoreSurroundings {
  readonly refunds: FeedListener | null;
  readonly guard: Outage | null;
  readonly topologies: Topologies;
}

/** A store in servers outside this process, wrapped as `STORE_FAILURE_MODE` requires. */
function openServerStore(parts: StoreParts, create: CreateServerStore): OpenedStore {
  const { settings, shared, serving } = parts;
  const link = serving?.thread?.link ?? null;
  const own = withOwnConnections(parts);
  if (own === null) return openHandedOnStore(parts, link);
  const sharing = sharingOf(parts);
  if (settings.backendType === 'memcached' && sharing.refundMarks !== null && shared === undefined)
    parts.logger.warning(NO_REFUND_NOTICES, { setting: 'LOCAL_CACHE_SIZE_IN_BYTES' });
  const outage = settings.storeFailureMode === 'error' ? null : storeOutage(parts, describeStore(settings));
  const refunds = shared === undefined ? refundListener(sharing) : null;
  const topologies = link === null ? openTopologies() : followTopologies(link);
  const created = create(own, { refunds, guard: outage, topologies });
  const store = timedIfTraced(created, settings);
  const local = settings.storeFailureMode === 'local' ? createEmbeddedStore(parts) : null;
  const guarded =
    outage === null
      ? store
      : guardStore(store, { ...parts, outage, local: local?.store ?? null }, sharing.fingerprintKey);
  const { fingerprintKey } = sharing;
  const links =
    serving === undefined || serving.thread !== null
      ? null
      : new ServingLinks(settings, serving.count, guarded, fingerprintKey, topologies);
  return {
    name: `${store.name} store`,
    store: guarded,
    ...sharing,
    memory: local?.table.buffer ?? null,
    links,
    serverOf: created.serverOf?.bind(created) ?? null,
    snapshotLock: null,
    start: () => guarded.start(),
    stop: async () => {
      links?.close();
      await guarded.stop();
      link?.close();
    },
    threadEnded: threadId => local?.table.releaseLocksOf(threadId),
  };
}

/** The settings with the share of the connections that this thread has; null if the thread hands its batches on. */
function withOwnConnections(parts: StoreParts): StoreParts | null {
  const { settings, serving } = parts;
  if (serving === undefined) return parts;
  const threads = serving.count;
  const { place } = serving.thread ?? { place: null };
  if (place !== null && handsOn(settings, { threads, place })) return null;
  const own = ownConnections(settings, { threads, place });
  if (own === null) return null;
  return {
    ...parts,
    settings: { ...settings, redisPoolSize: own.main, redisPerSecondPoolSize: own.perSecond },
  };
}

/** The store of a serving thread without connections. The primary thread counts its batches, and guards the store. */
function openHandedOnStore(parts: StoreParts, link: MessagePort | null): OpenedStore {
  if (link === null)
    throw new Error('a serving thread without connections needs a link to the primary thread');
  const { settings, shared } = parts;
  const secondsApart = settings.backendType === 'redis' && settings.redisPerSecond;
  const store = new HandedOnStore(link, { name: settings.backendType, secondsApart });
  return {
    name: `${store.name} store`,
    store,
    ...sharingOf(parts),
    memory: shared?.memory ?? null,
    links: null,
    serverOf: null,
    snapshotLock: null,
    start: () => store.start(),
    stop: () => store.stop(),
    threadEnded: () => {},
  };
}

/** Wraps a store so that its failures do not make requests fail, as `STORE_FAILURE_MODE` requires. */
function guardStore(
  store: CounterStore,
  parts: StoreParts & { readonly local: CounterStore | null; readonly outage: Outage },
  fingerprintKey: FingerprintKey,
): CounterStore {
  const { settings, stats, clock, logger, outage } = parts;
  const guarded = new GuardedStore({
    store,
    local: parts.local,
    outage,
    fingerprintKey,
    keyPrefix: settings.cacheKeyPrefix,
    counters: {
      storeError: stats.counter('ratelimit.service.call.should_rate_limit.redis_error'),
      outages: stats.counter('ratelimit.store_failure.outages'),
    },
    clock,
    logger,
  });
  stats.gauge('ratelimit.store_failure.active', () => (guarded.reason === null ? 0 : 1));
  return guarded;
}

const NO_REFUND_NOTICES =
  'memcached cannot notify instances of refunds, so the local cache of one instance may reject a key that another ' +
  'instance refunded, until its window ends. Unset LOCAL_CACHE_SIZE_IN_BYTES if callers refund hits';

function timedIfTraced(store: CounterStore, { tracingEnabled }: Settings): CounterStore {
  return tracingEnabled ? new TimedStore(store) : store;
}

/** Marks the keys that other processes refund; null without a local cache. */
function refundListener({ fingerprintKey, refundMarks }: Omit<StoreSharing, 'memory'>): FeedListener | null {
  if (refundMarks === null) return null;
  const marks = new RefundMarks(refundMarks);
  const print = new Fingerprinter(fingerprintKey);
  return {
    refunded: key => {
      print.take(key, 0, key.length);
      marks.refunded(print.b);
    },
    down: () => marks.feedDown(),
    up: () => marks.feedUp(),
  };
}

/** Marks of refunds for the local caches of all threads; null without a local cache. */
function openMarks({ localCacheSizeBytes }: Settings): SharedArrayBuffer | null {
  return localCacheSizeBytes === 0 ? null : new RefundMarks().buffer;
}

function openEmbeddedStore(parts: StoreParts, sharing: Omit<StoreSharing, 'memory'>): OpenedStore {
  const { store, table } = createEmbeddedStore(parts);
  const { memoryStoreSnapshotPath: path } = parts.settings;
  const snapshotLock = path === '' || parts.shared !== undefined ? null : new FileLock(path);
  const { fingerprintKey } = sharing;
  const keeper =
    snapshotLock === null ? null : createSnapshotKeeper(parts, snapshotLock, { table, fingerprintKey });
  return {
    name: `${store.name} store`,
    store: timedIfTraced(store, parts.settings),
    ...sharing,
    memory: table.buffer,
    links: null,
    serverOf: null,
    snapshotLock,
    start: async () => keeper?.start(),
    stop: async () => keeper?.stop(),
    threadEnded: threadId => table.releaseLocksOf(threadId),
  };
}
