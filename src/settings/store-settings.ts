import type { SettingWarning } from './faults.ts';
import { memcached } from './groups/memcached.ts';
import { redis, redisPerSecond } from './groups/redis.ts';
import type { Setting } from './kinds/kinds.ts';
import { asksForTls, mixesTls, unusedParameters } from './kinds/redis-address.ts';
import { type DeclaredValues, SETTINGS, type SettingKey, type SettingValues } from './table.ts';

/** The settings, and which of them were given: input of the functions below. */
interface StoreSettings {
  readonly values: SettingValues;
  /** The variable that gave a setting; a setting at its default has none. */
  readonly givenBy: Readonly<Partial<Record<SettingKey, string>>>;
}

/** The settings of each store, without those that select the store. */
const OF_STORE = {
  redis: [...keysOf(redis.settings), ...keysOf(redisPerSecond.settings)],
  memcached: keysOf(memcached.settings),
} as const satisfies Record<string, readonly SettingKey[]>;

/** Every setting that belongs to one store. */
export const STORE_SETTING_KEYS: readonly SettingKey[] = Object.values(OF_STORE).flat();

/**
 * Settings of a store that are given although neither an address nor `BACKEND_TYPE` selects a store. They show that
 * replicas should count together; if each counted separately, every replica would grant the whole limit.
 */
export function storelessSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  if (values.backendType !== 'embedded' || isChosen({ values, givenBy })) return [];
  return STORE_SETTING_KEYS.filter(key => isMeant(key, values, givenBy) && !isHarmless(key, values));
}

/** Settings that are given for a store that is not used. */
function unusedStoreSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  const { backendType } = values;
  if (backendType === 'embedded' && !isChosen({ values, givenBy })) return [];
  const used: readonly SettingKey[] = backendType === 'embedded' ? [] : OF_STORE[backendType];
  return STORE_SETTING_KEYS.filter(key => !used.includes(key) && isMeant(key, values, givenBy));
}

/** Settings of a store that are given without selecting one, and that do not show that one was meant. */
function harmlessStoreSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  if (values.backendType !== 'embedded' || isChosen({ values, givenBy })) return [];
  return STORE_SETTING_KEYS.filter(key => givenBy[key] !== undefined && isHarmless(key, values));
}

function isChosen({ givenBy }: StoreSettings): boolean {
  return givenBy.backendType !== undefined;
}

/** Given with a value other than the default: `REDIS_TLS=false` does not show that a store is meant. */
function isMeant(key: SettingKey, values: SettingValues, givenBy: StoreSettings['givenBy']): boolean {
  if (givenBy[key] === undefined) return false;
  const { kind, default: fallback }: Setting<unknown> = SETTINGS[key];
  return fallback === null || kind.write(values[key]) !== kind.write(fallback);
}

/** Manifests often set the socket type even without an address. `unix` would use the default address. */
function isHarmless(key: SettingKey, values: SettingValues): boolean {
  if (key !== 'redisSocketType' && key !== 'redisPerSecondSocketType') return false;
  return values[key] !== 'unix';
}

function keysOf(settings: Partial<Record<SettingKey, unknown>>): SettingKey[] {
  return Object.keys(settings) as SettingKey[];
}

/** Warnings about settings of stores that have no effect, and about a missing address. */
export function storeWarnings(given: StoreSettings): SettingWarning[] {
  const { values, givenBy } = given;
  const warnings: SettingWarning[] = [];
  for (const key of ['redisPipelineLimit', 'redisPerSecondPipelineLimit'] as const) {
    if (values[key] > 0) warnings.push(noEffect(givenBy[key], 'Sluice does not limit batches'));
  }
  if (!values.redisCloseConnectionOnReadonlyError) {
    const reason = 'a connection on which Redis answers READONLY is always replaced';
    warnings.push(noEffect(givenBy.redisCloseConnectionOnReadonlyError, reason));
  }
  if (values.backendType === 'redis' && givenBy.redisUrl === undefined) {
    warnings.push({
      message: 'No Redis address is set; the default is used',
      fields: { setting: 'KVCACHE_URL', used: values.redisUrl },
    });
  }
  for (const key of ['redisUrl', 'redisPerSecondUrl', 'tasksRedisUrl'] as const) {
    const parameters = unusedParameters(values[key]);
    if (parameters.length === 0) continue;
    warnings.push({
      message: 'Parameters of a Redis address have no effect; use the settings for TLS and timeouts',
      fields: { setting: givenBy[key], parameters: parameters.join(', ') },
    });
  }
  const unused = [...unusedStoreSettings(given), ...harmlessStoreSettings(given)];
  if (unused.length > 0) {
    warnings.push({
      message: 'Settings of a counter store that is not used have no effect',
      fields: { store: STORE_NAMES[values.backendType], settings: namesOf(unused, givenBy) },
    });
  }
  return warnings;
}

/** The addresses of Redis, each with the setting that enables TLS for it. */
const REDIS_ADDRESSES = [
  ['redisUrl', 'redisTls'],
  ['redisPerSecondUrl', 'redisPerSecondTls'],
  ['tasksRedisUrl', 'tasksRedisTls'],
] as const;

/** Warnings about addresses with rediss:// where other settings, or other addresses of the list, say the opposite. */
export function tlsWarnings(declared: DeclaredValues, givenBy: StoreSettings['givenBy']): SettingWarning[] {
  return REDIS_ADDRESSES.flatMap(([address, tls]) => {
    const url = declared[address] ?? '';
    const isDenied = givenBy[tls] !== undefined && !declared[tls];
    if (!asksForTls(url) || !(isDenied || mixesTls(url))) return [];
    const settings = isDenied ? `${givenBy[address]}, ${givenBy[tls]}` : `${givenBy[address]}`;
    const message =
      'rediss:// means TLS for all connections to this Redis, but another part of its settings says the opposite: write ' +
      'redis:// in all addresses if the server does not use TLS';
    return [{ message, fields: { settings } }];
  });
}

/** Names of the stores for operators. */
const STORE_NAMES = { embedded: 'memory', redis: 'redis', memcached: 'memcached' } as const;

function noEffect(name: string | undefined, reason: string): SettingWarning {
  return { message: 'Setting has no effect', fields: { name, reason } };
}

function namesOf(keys: readonly SettingKey[], givenBy: StoreSettings['givenBy']): string {
  return keys.map(key => givenBy[key]).join(', ');
}
