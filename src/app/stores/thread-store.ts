import type { OutageTexts } from '../../base/outage-log.ts';
import type { ThreadMessage, ThreadOutage } from '../../decision/pool/thread-messages.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { PrimaryThread, ThreadSurroundings } from '../surroundings.ts';
import type { OpenedStore, StoreFactory, StoreParts, StoreSharing } from './opened-store.ts';
import { StoreHealth } from './store-health.ts';
import { loadStoreFactory } from './stores.ts';

/**
 * Creates the store of a thread that decides, which reports its outages and connections to the primary thread.
 *
 * @param serving not given for a decision thread, which has connections of its own
 */
export async function openThreadStore(
  { settings, stats, clock, random, logger, post }: ThreadSurroundings<ThreadMessage>,
  shared: StoreSharing,
  serving?: StoreParts['serving'],
): Promise<OpenedStore> {
  const createStore = await loadStoreFactory(settings);
  const changed = (texts: OutageTexts, change: ThreadOutage['change']): void =>
    post({ kind: 'outage', texts, change });
  return createStore({
    // The primary thread has already reached the store. This thread may start later, so it waits without a time limit.
    settings: { ...settings, redisStartupMaxElapsedMs: 0 },
    stats,
    clock,
    random,
    logger,
    outages: {
      began: (texts, reason, atStart) => changed(texts, { kind: 'began', reason, atStart }),
      changed: (texts, reason) => changed(texts, { kind: 'changed', reason }),
      over: (texts, failedCalls) => changed(texts, { kind: 'over', failedCalls }),
    },
    connectionsChanged: connected => post({ kind: 'connections', connected }),
    shared,
    ...(serving !== undefined && { serving }),
  });
}

/** The counter store of the primary thread, and the health of the stores of all threads. */
interface PrimaryStore {
  readonly store: OpenedStore;
  readonly storeHealth: StoreHealth;
}

/** Creates the store of the primary thread. Its outages are part of the health of the process. */
export function openPrimaryStore(primary: PrimaryThread, createStore: StoreFactory): PrimaryStore {
  const { settings, health, outages } = primary;
  const storeHealth = new StoreHealth(health, settings.redisHealthCheckActiveConnection, outages);
  // Only the Redis stores report connections. They may connect after the start, so the initial state is set here.
  if (settings.backendType === 'redis') storeHealth.connectionsChanged(false);
  const count = servingThreads(settings).threads;
  const store = createStore({
    ...primary,
    outages: storeHealth,
    connectionsChanged: connected => storeHealth.connectionsChanged(connected),
    ...(count > 1 && { serving: { count, thread: null } }),
  });
  return { store, storeHealth };
}
