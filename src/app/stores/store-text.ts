import { memcachedAddresses } from '../../settings/groups/memcached.ts';
import { readPostgresAddress } from '../../settings/kinds/postgres-address.ts';
import {
  clusterEndpoints,
  type RedisAddressSettings,
  redisEndpoint,
  sentinelAddress,
} from '../../settings/kinds/redis-address.ts';
import type { Settings } from '../../settings/table.ts';

/** Describes the counter store for people: its kind and address, without credentials. */
export function describeStore(settings: Settings): string {
  if (settings.backendType === 'embedded') return 'embedded, in this process only';
  if (settings.backendType === 'memcached') return `memcached at ${memcachedText(settings)}`;
  const main = describeRedis(settings, 'redis');
  return settings.redisPerSecond
    ? `${main}; for limits per second, ${describeRedis(settings, 'redisPerSecond')}`
    : main;
}

/** With what the names of the settings of a Redis instance begin: the main one, or the one for limits per second. */
export type RedisPrefix = 'redis' | 'redisPerSecond';

/** Describes a Redis instance. */
export function describeRedis(settings: Settings, prefix: RedisPrefix): string {
  const socketType = settings[`${prefix}SocketType` as const];
  const url = settings[`${prefix}Url` as const];
  return redisText(settings[`${prefix}Type` as const], { socketType, url, auth: '' });
}

/** Describes the task store, like {@link describeStore}. */
export function describeTaskStore({ tasksStore, tasksDataDirectory, ...settings }: Settings): string {
  if (tasksStore === 'sqlite') return `SQLite in ${tasksDataDirectory}`;
  if (tasksStore === 'postgres')
    return `PostgreSQL at ${readPostgresAddress(settings.tasksPostgresUrl).shown}`;
  const { tasksRedisType: type, tasksRedisUrl: url } = settings;
  return redisText(type, { socketType: url.startsWith('/') ? 'unix' : 'tcp', url, auth: '' });
}

function memcachedText({ memcachedSrv, memcachedServers }: Settings): string {
  if (memcachedSrv !== '') return `the servers of ${memcachedSrv}`;
  return memcachedAddresses(memcachedServers)
    .map(each => each.shown)
    .join(', ');
}

function redisText(type: 'single' | 'sentinel' | 'cluster', address: RedisAddressSettings): string {
  if (type === 'single') return `Redis at ${redisEndpoint(address).shown}`;
  const list = (endpoints: readonly { readonly shown: string }[]) =>
    endpoints.map(each => each.shown).join(', ');
  if (type === 'cluster') return `Redis cluster at ${list(clusterEndpoints(address))}`;
  const { masterName, sentinels } = sentinelAddress(address, '');
  return `Redis master ${masterName} of sentinels ${list(sentinels)}`;
}
