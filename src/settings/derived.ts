import { availableParallelism } from 'node:os';
import { DEFAULT_REDIS_ADDRESS, isSocketPath } from './kinds/redis-address.ts';
import type { DeclaredValues, SettingValues } from './table.ts';

/** Fills in the defaults that follow from other settings. The type of the result asks for each of them. */
export function withDerivedDefaults(declared: DeclaredValues): SettingValues {
  const redisUrl = declared.redisUrl ?? DEFAULT_REDIS_ADDRESS;
  const backendType = declared.backendType ?? backendOf(declared);
  return {
    ...declared,
    redisUrl,
    redisSocketType: declared.redisSocketType ?? socketTypeOf(redisUrl),
    redisPerSecondSocketType: declared.redisPerSecondSocketType ?? socketTypeOf(declared.redisPerSecondUrl),
    backendType,
    tasksMaxOpen: declared.tasksMaxOpen ?? (declared.tasksStore === 'redis' ? 200_000 : 1_000_000),
    workerThreads: declared.workerThreads ?? Math.max(0, Math.min(8, availableParallelism() - 2)),
    // As the reference implementation does: its errors of Redis reach the caller, those of memcached do not.
    storeFailureMode: declared.storeFailureMode ?? (backendType === 'memcached' ? 'allow' : 'error'),
  };
}

function socketTypeOf(redisUrl: string): 'unix' | 'tcp' {
  return isSocketPath(redisUrl) ? 'unix' : 'tcp';
}

/** A deployment that names an address keeps its store; one that names none needs no server. */
function backendOf(declared: DeclaredValues): SettingValues['backendType'] {
  if (declared.redisUrl !== null) return 'redis';
  return declared.memcachedServers === '' && declared.memcachedSrv === '' ? 'embedded' : 'memcached';
}
