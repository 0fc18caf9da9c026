import type { Clock } from '../../base/clock.ts';
import type { TenantLimits } from '../model/documents.ts';
import type { Directory } from '../store/directory.ts';
import type { TaskStore } from '../store/task-store.ts';

export interface RetentionParts {
  readonly store: Pick<TaskStore, 'tenants' | 'purge'>;
  readonly directory: Directory;
  /** What tenants have whose operator has changed nothing. */
  readonly limits: TenantLimits;
  readonly clock: Clock;
}

/** Between two passes over all tenants. */
export const RETAIN_EVERY_MS = 10_000;

const SLICE = 500;
const TENANTS_AT_ONCE = 100;
/** How much longer than a slice took the store is left to others. */
const REST_FACTOR = 2;
const LEAST_REST_MS = 5;

/**
 * Removes what tenants do not keep any longer: a pass over all of them, in slices, between which the store is left to
 * others for longer than they take.
 *
 * @param stopped true when it is to break off
 * @throws (rejects with) Fault when the store fails
 */
export async function purgeAll(parts: RetentionParts, stopped: () => boolean): Promise<void> {
  let after: string | null = null;
  for (;;) {
    const tenants = await parts.store.tenants(after, TENANTS_AT_ONCE);
    for (const tenant of tenants) await purgeTenant(parts, tenant, stopped);
    if (tenants.length < TENANTS_AT_ONCE || stopped()) return;
    after = tenants[tenants.length - 1];
  }
}

async function purgeTenant(parts: RetentionParts, tenant: string, stopped: () => boolean): Promise<void> {
  const account = await parts.directory.account(tenant);
  const limits = { ...parts.limits, ...account?.body.limits };
  const keep = { succeededMs: limits.retainSucceededMs, otherMs: limits.retainOtherMs };
  let removed = SLICE;
  while (removed >= SLICE && !stopped()) {
    const startMs = parts.clock.nowMs();
    removed = await parts.store.purge(tenant, keep, SLICE);
    await rest(parts.clock, parts.clock.nowMs() - startMs);
  }
}

function rest(clock: Clock, tookMs: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(Math.max(LEAST_REST_MS, REST_FACTOR * tookMs), resolve);
  });
}
