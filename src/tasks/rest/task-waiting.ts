import type { Task } from '../model/task.ts';
import { formatTime } from '../model/time.ts';
import { readSecrets, WorkerSecrets } from '../scheduler/worker-book.ts';
import type { StoredDocument } from '../store/documents.ts';
import type { WorkerBlock } from '../store/requests.ts';
import { eachAtMost } from './bounded.ts';
import type { RestParts } from './parts.ts';
import type { Call } from './route.ts';
import type { WaitingReason } from './task-view.ts';
import { limitsOf } from './tenant-limits.ts';

const NOT_WAITING = { waiting_for: null, waiting_since: null };

/** Workers whose secrets are read at the same time. */
const AT_ONCE = 4;

/**
 * What the tasks of an answer wait for: a function from a task to its fields. The store is only asked if a task is due,
 * once for all of their workers.
 */
export async function waitingOf(
  parts: RestParts,
  call: Call,
  tasks: readonly Task[],
): Promise<(task: Task) => Record<string, string | null>> {
  const late = tasks.filter(task => dueSince(task, call.nowMs) !== null);
  const reasons = await reasonsOf(parts, call, [...new Set(late.map(({ workerId }) => workerId))]);
  return task => {
    const since = dueSince(task, call.nowMs);
    if (since === null) return NOT_WAITING;
    const reason = task.heldBy === null ? reasons.get(task.workerId)! : 'held';
    return { waiting_for: reason, waiting_since: formatTime(since) };
  };
}

/** Null if the task does not wait, or not yet. */
function dueSince({ status, heldBy, dueAt, runAt, expiresAt }: Task, nowMs: number): number | null {
  if (status !== 'scheduled' && status !== 'retry') return null;
  const since = heldBy === null ? dueAt : runAt;
  if (since === null || since > nowMs) return null;
  return expiresAt !== null && expiresAt <= nowMs ? null : since;
}

async function reasonsOf(
  parts: RestParts,
  call: Call,
  workerIds: readonly string[],
): Promise<ReadonlyMap<string, WaitingReason>> {
  const reasons = new Map<string, WaitingReason>();
  const ready: StoredDocument<'worker'>[] = [];
  const isSuspended = call.account.body.status !== 'active';
  await eachAtMost(workerIds, AT_ONCE, async id => {
    const worker = await parts.directory.worker(call.tenant, id);
    if (isSuspended) reasons.set(id, 'tenant_suspended');
    else if (worker === null) reasons.set(id, 'worker_deleted');
    else if (worker.body.paused) reasons.set(id, 'paused');
    else ready.push(worker);
  });
  if (ready.length === 0) return reasons;
  const { inFlight, dispatchPerSecond } = limitsOf(parts, call);
  const blocks = await parts.store.blocks(call.tenant, {
    workers: ready.map(({ id, body: { concurrency, rate } }) => ({ workerId: id, concurrency, rate })),
    tenantInFlight: inFlight,
    tenantPerSecond: dispatchPerSecond,
  });
  await eachAtMost([...ready.entries()], AT_ONCE, async ([at, worker]) => {
    reasons.set(worker.id, reasonOf(blocks[at]) ?? (await unblockedReason(parts, call, worker)));
  });
  return reasons;
}

function reasonOf(blocked: WorkerBlock): WaitingReason | null {
  return blocked === 'tenant_in_flight' || blocked === 'tenant_rate' ? 'tenant_share' : blocked;
}

/** What is left if no limit keeps the tasks of the worker from starting. */
async function unblockedReason(
  parts: RestParts,
  { tenant, account }: Call,
  { id, body }: StoredDocument<'worker'>,
): Promise<WaitingReason> {
  if (body.mode === 'pull') return 'pull_worker';
  const opened = await readSecrets(parts, tenant, id, account.body);
  return opened instanceof WorkerSecrets ? 'capacity' : 'secrets_unreadable';
}
