import { type SettingWarning, shownAs } from './faults.ts';
import type { Setting } from './kinds/setting.ts';
import { harmlessStoreSettings, type StoreSettings, unusedStoreSettings } from './store-settings.ts';
import type { SettingKey } from './table.ts';

/** A number was outside of the range of its setting, and the end of the range stands for it. */
export function outOfRange(
  variable: string,
  text: string,
  setting: Setting<unknown>,
  value: unknown,
): SettingWarning {
  return {
    message: 'A setting is out of range; the nearest accepted value is used',
    fields: {
      given: shownAs(variable, text, setting.secret),
      used: setting.kind.write(value),
      accepted: setting.kind.accepts,
    },
  };
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
