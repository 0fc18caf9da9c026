import type { Clock } from '../../../base/clock.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

type RetainingThread = ThreadPart<'tenants' | 'purge', 'directory' | 'limits' | 'clock'>;

/** Between two passes over all tenants. */
export const RETAIN_EVERY_MS = 10_000;

const SLICE = 500;
const TENANTS_AT_ONCE = 100;
/** Maximum number of tenants that may fail in one pass. With more failures the store is unavailable. */
const MAX_FAILURES = 10;
/** The pause after a slice is this many times as long as the slice took. */
const REST_FACTOR = 2;
const LEAST_REST_MS = 5;
/** The clock may be corrected during a slice, which then seems to take hours. */
const MAX_REST_MS = 10_000;

/**
 * Removes tasks whose retention time is over: one pass over all tenants, in slices. The pauses between slices are longer
 * than the slices, so that other work has priority.
 *
 * @param stopped returns true when the pass is to be aborted
 * @throws (rejects with) Fault when the store fails
 */
export async function purgeAll(thread: RetainingThread, stopped: () => boolean): Promise<void> {
  const failures: unknown[] = [];
  let after: string | null = null;
  let tenants: readonly string[];
  do {
    tenants = await thread.store.tenants(after, TENANTS_AT_ONCE);
    for (const tenant of tenants) {
      if (stopped()) break;
      // A part of the store may be unavailable. One tenant that fails must not keep the others from being purged.
      await purgeTenant(thread, tenant, stopped).catch(failure => failures.push(failure));
      if (failures.length >= MAX_FAILURES) throw failures[0];
    }
    after = tenants.at(-1) ?? null;
  } while (tenants.length === TENANTS_AT_ONCE && !stopped());
  if (failures.length > 0) throw failures[0];
}

async function purgeTenant(thread: RetainingThread, tenant: string, stopped: () => boolean): Promise<void> {
  const account = await thread.directory.account(tenant);
  const limits = { ...thread.limits, ...account?.body.limits };
  const keep = { succeededMs: limits.retainSucceededMs, otherMs: limits.retainOtherMs };
  let isLeft = true;
  while (isLeft && !stopped()) {
    const startMs = thread.clock.nowMs();
    isLeft = (await thread.store.purge(tenant, keep, SLICE)).more;
    await rest(thread.clock, thread.clock.nowMs() - startMs);
  }
}

function rest(clock: Clock, tookMs: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(Math.min(Math.max(LEAST_REST_MS, REST_FACTOR * tookMs), MAX_REST_MS), resolve);
  });
}
