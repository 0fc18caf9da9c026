import type { SettingWarning } from './faults.ts';
import { decision } from './groups/decision.ts';
import { memcached } from './groups/memcached.ts';
import { decisionLog, logging, statistics, tracing } from './groups/observability.ts';
import { redis, redisPerSecond } from './groups/redis.ts';
import { rules } from './groups/rules.ts';
import { servers, tls } from './groups/servers.ts';
import { store, storeFailure } from './groups/store.ts';
import { taskLimits } from './groups/task-limits.ts';
import { tasks } from './groups/tasks.ts';
import { xds } from './groups/xds.ts';
import type { Setting, SettingGroup } from './kinds/kinds.ts';
import type { MogrifierSetting } from './mogrifiers.ts';

/** Every group, in the order in which they are shown. A new group is added here and in {@link SETTINGS}. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  servers,
  tls,
  rules,
  xds,
  decision,
  store,
  redis,
  redisPerSecond,
  memcached,
  storeFailure,
  tasks,
  taskLimits,
  statistics,
  tracing,
  logging,
  decisionLog,
];

/** Every setting by its key. The types below are inferred from it. */
export const SETTINGS = {
  ...servers.settings,
  ...tls.settings,
  ...rules.settings,
  ...xds.settings,
  ...decision.settings,
  ...store.settings,
  ...redis.settings,
  ...redisPerSecond.settings,
  ...memcached.settings,
  ...storeFailure.settings,
  ...tasks.settings,
  ...taskLimits.settings,
  ...statistics.settings,
  ...tracing.settings,
  ...logging.settings,
  ...decisionLog.settings,
};

export type SettingKey = keyof typeof SETTINGS;

type ValueOf<S> = S extends Setting<infer V> ? V : never;

/** Values from variables and fixed defaults; null if the default depends on other settings. */
export type DeclaredValues = { readonly [K in SettingKey]: ValueOf<(typeof SETTINGS)[K]> };

/** Every value, complete. */
export type SettingValues = { readonly [K in SettingKey]: NonNullable<DeclaredValues[K]> };

/** All settings, read once at startup. */
export interface Settings extends SettingValues {
  /** Read from the variables that `dogStatsdMogrifiers` names; empty if DogStatsD is disabled. */
  readonly mogrifiers: readonly MogrifierSetting[];
  /** The variable that gave a setting; a setting at its default has none. */
  readonly givenBy: Readonly<Partial<Record<SettingKey, string>>>;
  /** Problems that do not prevent the start; they are logged. */
  readonly warnings: readonly SettingWarning[];
}

/** The declarations with their keys, in order, with typed keys. */
export function settingEntries(): [SettingKey, Setting<unknown>][] {
  return Object.entries(SETTINGS) as [SettingKey, Setting<unknown>][];
}
