import type { OpenedStore, StoreParts } from '../../src/app/stores/opened-store.ts';
import { loadStoreFactory } from '../../src/app/stores/stores.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OutageLog } from '../../src/base/outage-log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import { KeepingLogger } from './keeping-logger.ts';
import type { Teardown } from './stores.ts';

/** A store as a process or one of its threads has it. */
export interface StoreOfSettings {
  readonly opened: OpenedStore;
  readonly stats: StatsRegistry;
  readonly logger: KeepingLogger;
}

/** The counter store that these settings ask for, not yet started. It is stopped with the test. */
export async function storeOfSettings(
  t: Teardown,
  env: Readonly<Record<string, string>>,
  parts: Partial<StoreParts> = {},
): Promise<StoreOfSettings> {
  const settings = loadSettings(env);
  const stats = new StatsRegistry();
  const logger = new KeepingLogger();
  const { clock = systemClock } = parts;
  const outages = new OutageLog({ clock, logger });
  const createStore = await loadStoreFactory(settings);
  const opened = createStore({ settings, logger, outages, clock, random: () => 0.5, stats, ...parts });
  t.teardown(() => opened.stop());
  return { opened, stats, logger };
}

/** The same, started. */
export async function startedStore(...of: Parameters<typeof storeOfSettings>): Promise<StoreOfSettings> {
  const store = await storeOfSettings(...of);
  await store.opened.start();
  return store;
}
