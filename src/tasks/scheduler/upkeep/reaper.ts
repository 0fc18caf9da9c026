import { forEachLimited } from '../../../base/for-each-limited.ts';
import { isPolicyOver, retryWaitMs } from '../../model/retry-policy.ts';
import { tellEnd, tellLetGo } from '../../model/signals.ts';
import type { Actor, Task } from '../../model/task.ts';
import type { Overdue, Settlement } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

type ReapingThread = ThreadPart<'overdue' | 'settle' | 'change', 'signals' | 'clock' | 'random'>;

/** Interval between two rounds: well below the second within which a lost worker must be noticed. */
export const REAP_EVERY_MS = 500;
const MAX_AT_ONCE = 500;
/** Maximum number of concurrent calls of the store, which writes several together. */
const JOBS_AT_ONCE = 32;

const REAPER: Actor = { type: 'system', id: 'reaper' };

/**
 * Ends attempts whose lease has expired, and tasks that did not start in time. Every process does this: the store accepts
 * the first and refuses the others. A failure for one tenant does not affect the others.
 *
 * @param stopped returns true when the round is to be aborted
 * @throws (rejects with) Fault when the store fails
 */
export async function reap(thread: ReapingThread, stopped: () => boolean): Promise<void> {
  let ended: number;
  do {
    ended = 0;
    const overdue = await thread.store.overdue(MAX_AT_ONCE);
    const count = (by: number): void => {
      ended += by;
    };
    const jobs = overdue.flatMap(each => [
      async () => count(await reapLeases(thread, each)),
      ...each.expired.map(task => async () => count(await expire(thread, each.tenant, task))),
    ]);
    await forEachLimited(jobs, JOBS_AT_ONCE, job => job());
    // If nothing was ended, other processes are ending the same leases. The rest is left to the next round.
  } while (ended >= MAX_AT_ONCE / 2 && !stopped());
}

async function reapLeases(thread: ReapingThread, { tenant, leases }: Overdue): Promise<number> {
  if (leases.length === 0) return 0;
  const { store, signals, clock } = thread;
  const settlements = leases.map(({ leaseId, task }) => lapse(thread, leaseId, task));
  let ended = 0;
  for (const answer of await store.settle(tenant, settlements)) {
    if (answer.kind !== 'settled') continue;
    tellEnd(signals, tenant, answer.task, clock.nowMs());
    ended++;
  }
  return ended;
}

/** The attempt counts, and the delay is at least the base: a task that crashes its worker must not do so forever. */
function lapse({ random, clock }: ReapingThread, leaseId: string, task: Task): Settlement {
  const delayMs = Math.max(task.retry.baseMs, retryWaitMs(task.retry, task.attempt, random));
  return {
    leaseId,
    event: 'lease_expired',
    delayMs,
    last: isPolicyOver(task.retry, task.startedAt, clock.nowMs() + delayMs),
    result: null,
    error: {
      code: 'lease_expired',
      message: 'the lease expired before the worker reported a result',
    },
    http: null,
    throttleMs: 0,
    actor: REAPER,
  };
}

/** @returns how many were ended: one, or none */
async function expire(
  { store, signals, clock }: ReapingThread,
  tenant: string,
  { id }: Pick<Task, 'id'>,
): Promise<number> {
  const answer = await store.change(tenant, id, {
    action: 'expire',
    patch: {},
    expectVersion: null,
    actor: REAPER,
  });
  if (answer.kind !== 'done') return 0;
  tellLetGo(signals, tenant, answer.task, clock.nowMs());
  return 1;
}
