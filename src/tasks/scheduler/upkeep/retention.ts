import type { Clock } from '../../../base/clock.ts';
import type { StoredDocument, TenantAccount } from '../../store/documents.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

type RetainingThread = ThreadPart<'accounts' | 'purge', 'limits' | 'clock'>;

/** Between two passes over all tenants. */
export const RETAIN_EVERY_MS = 10_000;

const SLICE = 500;
const ACCOUNTS_A_PAGE = 500;
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
  let accounts: readonly TenantAccount[];
  do {
    accounts = await thread.store.accounts(after, ACCOUNTS_A_PAGE);
    for (const { tenant, account } of accounts) {
      if (stopped()) break;
      // Without its account it is not known how long its tasks are to be kept.
      if (account === null) continue;
      // A part of the store may be unavailable. One tenant that fails must not keep the others from being purged.
      await purgeTenant(thread, tenant, account, stopped).catch(failure => failures.push(failure));
      if (failures.length >= MAX_FAILURES) throw failures[0];
    }
    after = accounts.at(-1)?.tenant ?? null;
  } while (accounts.length === ACCOUNTS_A_PAGE && !stopped());
  if (failures.length > 0) throw failures[0];
}

async function purgeTenant(
  thread: RetainingThread,
  tenant: string,
  { body }: StoredDocument<'account'>,
  stopped: () => boolean,
): Promise<void> {
  const limits = { ...thread.limits, ...body.limits };
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
