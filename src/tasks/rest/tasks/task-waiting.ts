import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { StartLimit } from '../../model/documents.ts';
import type { Task } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import { readSecrets, WorkerSecrets } from '../../scheduler/workers/worker-secrets.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { Block, BlockedWorker } from '../../store/requests.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import type { WaitingReason } from '../fields/task-fields.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

const NOT_WAITING = { waiting_for: null, waiting_since: null };

/** Maximum number of workers that are checked concurrently. */
const AT_ONCE = 4;

/**
 * Finds why due tasks have not started. Returns a function from a task to its fields `waiting_for` and `waiting_since`.
 * The store is called only if a task is due, and once for all tasks.
 */
export async function waitingOf(
  parts: RestParts,
  call: Call,
  tasks: readonly Task[],
): Promise<(task: Task) => Record<string, string | null>> {
  const late = tasks.filter(task => dueSince(task, call.nowMs) !== null);
  const reasons = await reasonsOf(
    parts,
    call,
    late.filter(({ heldBy }) => heldBy === null),
  );
  return task => {
    const since = dueSince(task, call.nowMs);
    if (since === null) return NOT_WAITING;
    return { waiting_for: reasons.get(task.id) ?? 'held', waiting_since: formatTime(since) };
  };
}

/** Since when the task is due; null if it is not waiting or not due yet. */
function dueSince({ status, heldBy, dueAt, runAt, expiresAt }: Task, nowMs: number): number | null {
  if (status !== 'scheduled' && status !== 'retry') return null;
  const since = heldBy === null ? dueAt : runAt;
  if (since === null || since > nowMs) return null;
  return expiresAt !== null && expiresAt <= nowMs ? null : since;
}

/** The reasons by the ids of the tasks. */
async function reasonsOf(
  parts: RestParts,
  call: Call,
  tasks: readonly Task[],
): Promise<ReadonlyMap<string, WaitingReason>> {
  const workers = await workersOf(parts, call, tasks);
  const reasons = new Map<string, WaitingReason>();
  const asked: AskedTask[] = [];
  for (const task of tasks) {
    const worker = workers.get(task.workerId) ?? null;
    const reason = lastingReason(call, worker);
    if (reason === null) asked.push({ task, worker: worker! });
    else reasons.set(task.id, reason);
  }
  if (asked.length === 0) return reasons;
  const blocks = await blocksOf(parts, call, asked);
  const idle = new Map<string, WaitingReason>();
  const unblocked = asked.filter((one, at) => blocks[at] === null && !idle.has(one.worker.id));
  const idleWorkers = new Map(unblocked.map(({ worker }) => [worker.id, worker]));
  await forEachLimited(
    [...idleWorkers.values()],
    AT_ONCE,
    async worker => {
      idle.set(worker.id, await unblockedReason(parts, call, worker));
    },
    'stop',
  );
  for (const [at, { task, worker }] of asked.entries()) {
    reasons.set(task.id, reasonOf(blocks[at]) ?? idle.get(worker.id)!);
  }
  return reasons;
}

interface AskedTask {
  readonly task: Task;
  readonly worker: StoredDocument<'worker'>;
}

async function workersOf(
  { directory }: RestParts,
  { tenant }: Call,
  tasks: readonly Task[],
): Promise<ReadonlyMap<string, StoredDocument<'worker'> | null>> {
  const workers = new Map<string, StoredDocument<'worker'> | null>();
  await forEachLimited(
    [...new Set(tasks.map(({ workerId }) => workerId))],
    AT_ONCE,
    async id => {
      workers.set(id, await directory.worker(tenant, id));
    },
    'stop',
  );
  return workers;
}

/** The reason that keeps all tasks of the worker from starting, if there is one. */
function lastingReason({ account }: Call, worker: StoredDocument<'worker'> | null): WaitingReason | null {
  if (account.body.status !== 'active') return 'tenant_suspended';
  if (worker === null) return 'worker_deleted';
  return worker.body.paused ? 'paused' : null;
}

/** Asks the store which limit blocks each of the tasks. Tasks with the same limits share one entry of the query. */
async function blocksOf(
  { config, store }: RestParts,
  call: Call,
  asked: readonly AskedTask[],
): Promise<readonly Block[]> {
  const places = new Map<string, number>();
  const workers: BlockedWorker[] = [];
  const placeOf = asked.map(({ task, worker }) => {
    const { concurrency, rate, groups: rules = null } = worker.body;
    const { group } = task;
    const inGroup = rules === null || group === null ? null : { group, rules, taskId: task.id };
    const alike = inGroup === null ? '' : inGroup.rules.fifo ? ` ${task.id}` : `:${group}`;
    const name = worker.id + alike;
    const place = places.get(name) ?? places.size;
    if (place === places.size) {
      places.set(name, place);
      workers.push({ workerId: worker.id, concurrency, rate, inGroup });
    }
    return place;
  });
  const { inFlight, dispatchPerSecond } = limitsOf({ config }, call);
  const query = { workers, tenantInFlight: inFlight, tenantPerSecond: dispatchPerSecond };
  const blocks = await store.blocks(call.tenant, query);
  return placeOf.map(place => blocks[place]);
}

function reasonOf(blocked: Block): WaitingReason | null {
  return blocked === 'tenant_in_flight' || blocked === 'tenant_rate' ? 'tenant_share' : blocked;
}

/** The reason if no limit in the store blocks the tasks of the worker. */
async function unblockedReason(
  parts: RestParts,
  { tenant, account }: Call,
  { id, body }: StoredDocument<'worker'>,
): Promise<WaitingReason> {
  if (body.limit != null && (await isUsedUp(parts, tenant, body.limit))) return 'limit';
  if (body.mode === 'pull') return 'pull_worker';
  const opened = await readSecrets(parts, tenant, id, account.body);
  if (!(opened instanceof WorkerSecrets)) return 'secrets_unreadable';
  return parts.usedShares.has(tenant) ? 'tenant_share' : 'capacity';
}

async function isUsedUp({ limitAsker }: RestParts, tenant: string, limit: StartLimit): Promise<boolean> {
  try {
    return (await limitAsker.ask({ tenant, limit, tasks: 0 })).isUsedUp;
  } catch {
    return true;
  }
}
