import { existsSync } from 'node:fs';
import type { Settings } from '../../settings/table.ts';
import { FileRecords } from '../../steering/file-records.ts';
import type { SteeringStore } from '../../steering/steering-store.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { Surroundings } from '../surroundings.ts';

/**
 * Creates the store of steering records.
 *
 * @param store the counter store, in the primary thread
 */
export type OpenSteeringStore = (
  store: Pick<OpenedStore, 'serverOf' | 'snapshotLock'>,
  primary: Pick<Surroundings, 'clock' | 'logger'>,
) => SteeringStore;

/**
 * Loads the code of the store for steering records, which is that of the counters. A process without a token for changes
 * applies the records of others. Null if there can be none: with memcached, which may evict them at any time, and with the
 * embedded store without a token and without a file of records.
 */
export async function loadSteeringStore(settings: Settings): Promise<OpenSteeringStore | null> {
  const { backendType, memoryStoreSnapshotPath: snapshotPath, cacheKeyPrefix: prefix } = settings;
  const hasToken = settings.adminToken !== '' || settings.adminTokenFile !== '';
  if (backendType === 'memcached') return null;
  if (backendType === 'embedded') {
    const path = `${snapshotPath}.steering`;
    if (!hasToken && (snapshotPath === '' || !existsSync(path))) return null;
    return ({ snapshotLock: lock }, { clock, logger }) =>
      new FileRecords(lock === null ? null : { path, lock }, clock, logger);
  }
  const { RedisRecords } = await import('../../steering/redis-records.ts');
  return ({ serverOf }, { clock, logger }) => {
    const key = `${prefix}sluice:steering`;
    if (serverOf === null) throw new Error('the primary thread has no connection to Redis');
    return new RedisRecords(serverOf(key), key, !hasToken, clock, logger);
  };
}
