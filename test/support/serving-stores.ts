import type { OpenedStore } from '../../src/app/stores/opened-store.ts';
import { loadStoreFactory } from '../../src/app/stores/stores.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { OutageLog } from '../../src/base/outage-log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import { aftersOf, batchOf } from './counting.ts';
import { KeepingLogger } from './keeping-logger.ts';
import type { Teardown } from './stores.ts';

/** A store as one thread has it. */
export interface ThreadStore {
  readonly opened: OpenedStore;
  readonly stats: StatsRegistry;
  readonly logger: KeepingLogger;
}

/** Opens and starts the stores of a process with serving threads, all of them in this thread. */
export async function openServingStores(
  t: Teardown,
  env: Readonly<Record<string, string>>,
  { count, clock = systemClock }: { readonly count: number; readonly clock?: Clock },
): Promise<{ readonly primary: ThreadStore; readonly threads: readonly ThreadStore[] }> {
  const settings = loadSettings(env);
  const createStore = await loadStoreFactory(settings);
  const surroundings = () => {
    const stats = new StatsRegistry();
    const logger = new KeepingLogger();
    return { settings, logger, outages: new OutageLog({ clock, logger }), clock, random: () => 0.5, stats };
  };
  const parts = surroundings();
  const opened = createStore({ ...parts, serving: { count, thread: null } });
  const primary = { ...parts, opened };
  t.teardown(() => opened.stop());
  await opened.start();
  const threads: ThreadStore[] = [];
  for (let place = 0; place < count; place++) {
    const { fingerprintKey, memory, refundMarks } = opened;
    const own = surroundings();
    const store = createStore({
      ...own,
      shared: { fingerprintKey, memory, refundMarks },
      serving: { count, thread: { place, link: opened.links?.attach(place) ?? null } },
    });
    t.teardown(() => store.stop());
    await store.start();
    threads.push({ ...own, opened: store });
  }
  return { primary, threads };
}

/** Counts many batches at the same time in all threads; the counts of the key `a`, in order. */
export async function countEverywhere(threads: readonly ThreadStore[], each = 20): Promise<number[]> {
  const batches = threads.flatMap(({ opened }) =>
    Array.from({ length: each }, async () => {
      const batch = batchOf([{ ops: [{ key: 'a', hits: 1 }] }]);
      await opened.store.increment(batch);
      return aftersOf(batch)[0];
    }),
  );
  return (await Promise.all(batches)).sort((a, b) => a - b);
}

/** The numbers from 1 up to a last one. */
export function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}
