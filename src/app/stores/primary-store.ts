import { servingThreads } from '../../settings/thread-counts.ts';
import type { PrimaryThread } from '../surroundings.ts';
import type { OpenedStore, StoreFactory } from './opened-store.ts';
import { StoreHealth } from './store-health.ts';

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
