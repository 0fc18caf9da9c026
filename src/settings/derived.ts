import { DEFAULT_REDIS_ADDRESS, isSocketPath } from './redis-address.ts';
import type { DeclaredValues, SettingValues } from './table.ts';

/** Fills in the defaults that follow from other settings. The type of the result asks for each of them. */
export function withDerivedDefaults(declared: DeclaredValues): SettingValues {
  const redisUrl = declared.redisUrl ?? DEFAULT_REDIS_ADDRESS;
  return {
    ...declared,
    redisUrl,
    redisSocketType: declared.redisSocketType ?? (isSocketPath(redisUrl) ? 'unix' : 'tcp'),
    // A deployment that names an address keeps its store; one that names none needs no server.
    backendType: declared.backendType ?? (declared.redisUrl === null ? 'embedded' : 'redis'),
  };
}
