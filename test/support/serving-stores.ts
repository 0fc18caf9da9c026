import { type Clock, systemClock } from '../../src/base/clock.ts';
import { aftersOf, batchOf } from './counting.ts';
import { type StoreOfSettings, startedStore } from './store-of-settings.ts';
import type { Teardown } from './stores.ts';

/** Opens and starts the stores of a process with serving threads, all of them in this thread. */
export async function openServingStores(
  t: Teardown,
  env: Readonly<Record<string, string>>,
  { count, clock = systemClock }: { readonly count: number; readonly clock?: Clock },
): Promise<{ readonly primary: StoreOfSettings; readonly threads: readonly StoreOfSettings[] }> {
  const primary = await startedStore(t, env, { clock, serving: { count, thread: null } });
  const { fingerprintKey, memory, refundMarks, links } = primary.opened;
  const threads: StoreOfSettings[] = [];
  for (let place = 0; place < count; place++) {
    const serving = { count, thread: { place, link: links?.attach(place) ?? null } };
    const shared = { fingerprintKey, memory, refundMarks };
    threads.push(await startedStore(t, env, { clock, shared, serving }));
  }
  return { primary, threads };
}

/** Counts many batches at the same time in all threads; the counts of the key `a`, in order. */
export async function countEverywhere(threads: readonly StoreOfSettings[], each = 20): Promise<number[]> {
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
