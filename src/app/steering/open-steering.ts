import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import { FileRecords } from '../../steering/file-records.ts';
import { Steering } from '../../steering/steering.ts';
import type { SteeringStore } from '../../steering/steering-store.ts';

interface SteeringParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the store of steering records. */
export type OpenSteeringStore = (parts: SteeringParts) => SteeringStore;

/**
 * Loads the code of the store for steering records, which is that of the counters. Null without a token for changes, and
 * with memcached, which may evict records at any time.
 */
export async function loadSteeringStore(settings: Settings): Promise<OpenSteeringStore | null> {
  if (settings.adminToken === '' && settings.adminTokenFile === '') return null;
  if (settings.backendType === 'memcached') return null;
  if (settings.backendType === 'embedded') {
    const { memoryStoreSnapshotPath: path } = settings;
    return ({ logger }) => new FileRecords(path === '' ? null : `${path}.steering`, logger);
  }
  const { RedisRecords } = await import('../../steering/redis-records.ts');
  const { openRecordServer } = await import('./record-server.ts');
  return ({ clock, logger }) =>
    new RedisRecords({
      server: openRecordServer(settings, logger),
      key: `${settings.cacheKeyPrefix}sluice:steering`,
      timeoutMs: settings.redisTimeoutMs,
      clock,
      logger,
    });
}

/** Creates the steering records of the process; null if they are disabled. */
export function openSteering(open: OpenSteeringStore | null, parts: SteeringParts): Steering | null {
  return open === null ? null : new Steering(open(parts), parts.clock);
}
