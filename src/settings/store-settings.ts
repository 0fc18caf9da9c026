import type { SettingWarning } from './faults.ts';
import { memcached } from './groups/memcached.ts';
import { redis, redisPerSecond } from './groups/redis.ts';
import type { Setting } from './kinds/kinds.ts';
import { SETTINGS, type SettingKey, type SettingValues } from './table.ts';

/** Which settings say something about a counter store, and whether that store is the one in use. */
export interface StoreSettings {
  readonly values: SettingValues;
  /** The variable that gave a setting; a setting at its default has none. */
  readonly givenBy: Readonly<Partial<Record<SettingKey, string>>>;
}

/** The settings of each store; those that decide which store is used have no part in this. */
const OF_STORE = {
  redis: [...keysOf(redis.settings), ...keysOf(redisPerSecond.settings)],
  memcached: keysOf(memcached.settings),
} as const satisfies Record<string, readonly SettingKey[]>;

/** Every setting that belongs to one store. */
export const STORE_SETTING_KEYS: readonly SettingKey[] = Object.values(OF_STORE).flat();

/**
 * Settings that describe a store although none was chosen: neither an address nor `BACKEND_TYPE` names one. They show
 * that replicas are to count together. Counting in each process would let every replica grant the whole limit.
 */
export function storelessSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  if (values.backendType !== 'embedded' || isChosen({ values, givenBy })) return [];
  return STORE_SETTING_KEYS.filter(key => isMeant(key, values, givenBy) && !isHarmless(key, values));
}

/** Settings of a store that is not the chosen one, or of any store where counting in memory was chosen. */
export function unusedStoreSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  const { backendType } = values;
  if (backendType === 'embedded' && !isChosen({ values, givenBy })) return [];
  const used: readonly SettingKey[] = backendType === 'embedded' ? [] : OF_STORE[backendType];
  return STORE_SETTING_KEYS.filter(key => !used.includes(key) && isMeant(key, values, givenBy));
}

/** Settings that name no store and promise none, given where hits are counted in memory because nothing else was said. */
export function harmlessStoreSettings({ values, givenBy }: StoreSettings): SettingKey[] {
  if (values.backendType !== 'embedded' || isChosen({ values, givenBy })) return [];
  return STORE_SETTING_KEYS.filter(key => givenBy[key] !== undefined && isHarmless(key, values));
}

function isChosen({ givenBy }: StoreSettings): boolean {
  return givenBy.backendType !== undefined;
}

/** Given, and with another value than it has without: `REDIS_TLS=false` says nothing about a store. */
function isMeant(key: SettingKey, values: SettingValues, givenBy: StoreSettings['givenBy']): boolean {
  if (givenBy[key] === undefined) return false;
  const { kind, default: fallback }: Setting<unknown> = SETTINGS[key];
  return fallback === null || kind.write(values[key]) !== kind.write(fallback);
}

/** Manifests set it beside an address that is filled in elsewhere; `unix` means the default address instead. */
function isHarmless(key: SettingKey, values: SettingValues): boolean {
  if (key !== 'redisSocketType' && key !== 'redisPerSecondSocketType') return false;
  return values[key] !== 'unix';
}

function keysOf(settings: Partial<Record<SettingKey, unknown>>): SettingKey[] {
  return Object.keys(settings) as SettingKey[];
}

/** What is to be known about the settings of stores: those that change nothing, and an address that was not given. */
export function storeWarnings(given: StoreSettings): SettingWarning[] {
  const { values, givenBy } = given;
  const warnings: SettingWarning[] = [];
  for (const key of ['redisPipelineLimit', 'redisPerSecondPipelineLimit'] as const) {
    if (values[key] > 0) warnings.push(noEffect(givenBy[key], 'batches are not limited by it'));
  }
  if (!values.redisCloseConnectionOnReadonlyError) {
    const reason = 'a connection on which Redis answers READONLY is always replaced';
    warnings.push(noEffect(givenBy.redisCloseConnectionOnReadonlyError, reason));
  }
  if (values.backendType === 'redis' && givenBy.redisUrl === undefined) {
    warnings.push({
      message: 'No address of Redis is given; the default is used',
      fields: { setting: 'KVCACHE_URL', used: values.redisUrl },
    });
  }
  const unused = [...unusedStoreSettings(given), ...harmlessStoreSettings(given)];
  if (unused.length > 0) {
    warnings.push({
      message: 'Settings of another counter store have no effect',
      fields: { store: STORE_NAMES[values.backendType], settings: namesOf(unused, givenBy) },
    });
  }
  return warnings;
}

/** As operators know them. */
const STORE_NAMES = { embedded: 'memory', redis: 'redis', memcached: 'memcached' } as const;

function noEffect(name: string | undefined, reason: string): SettingWarning {
  return { message: 'A setting has no effect', fields: { name, reason } };
}

function namesOf(keys: readonly SettingKey[], givenBy: StoreSettings['givenBy']): string {
  return keys.map(key => givenBy[key]).join(', ');
}
