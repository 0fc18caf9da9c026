import { bodyBytes } from '../../../model/task.ts';
import type { ClaimAnswer, ClaimedTask, ClaimRequest, WorkerBlock } from '../../requests.ts';
import { READ_BYTES } from '../../task-store.ts';
import { STATUS } from '../rows/codes.ts';
import { bodyAt, shown, taskAt } from '../rows/read-task.ts';
import { saveTask } from '../rows/save.ts';
import { actorText } from '../rows/task-row.ts';
import type { TenantTotals, WorkerTotals } from '../rows/totals.ts';
import type { Work } from '../rows/work.ts';
import { nextTokenAt, refill, take } from './bucket.ts';
import { type Candidate, dueTasks, inOrder, nextDue } from './candidates.ts';
import { GroupLines } from './group-lines.ts';

/** How long to wait for an attempt to end. */
const ROOM_WAIT_MS = 1_000;

type Blocked = NonNullable<ClaimAnswer['blocked']>;

export function claim(work: Work, tenantName: string, request: ClaimRequest): ClaimAnswer {
  const { now } = work;
  const { leaseIds, rate, lease } = request;
  const tenant = work.findTenant(tenantName);
  const worker = tenant === null ? null : work.findWorker(tenant, request.workerId);
  if (tenant === null || worker === null) return { tasks: [], now, nextAt: null, blocked: null };

  const groups = new GroupLines(work, worker.number, request);
  const due = inOrder(
    [...dueTasks(work, worker, leaseIds.length + 1), ...groups.candidates()],
    leaseIds.length + 1,
  );
  const candidates = due.slice(0, leaseIds.length);
  let tasks: ClaimedTask[] = [];
  let blocked: Blocked | null = null;
  let isCut = false;
  let started: readonly Candidate[] = [];
  if (due.length > 0) {
    const tenantRate = { limit: request.tenantPerSecond, perMs: 1_000, burst: request.tenantPerSecond };
    if (rate !== null) refill(worker.bucket, now, rate);
    refill(tenant.bucket, now, tenantRate);
    tenant.changed = true;
    const tightest = tightestBound(now, tenant, worker, request);
    const room = Math.min(tightest.room, candidates.length);
    tasks = startSome(work, tenant, candidates.slice(0, room), request);
    started = candidates.slice(0, tasks.length);
    isCut = tasks.length < room;
    // A claim of nothing is blocked by what would block a claim of one task.
    if (tightest.room < Math.max(1, candidates.length) && !isCut) blocked = tightest.name;
    if (rate !== null) take(worker.bucket, tasks.length);
    take(tenant.bucket, tasks.length);
  }
  groups.served(started);
  const more = isCut || due.length > candidates.length;
  let nextAt: number | null = now;
  if (blocked !== null) nextAt = whenBlocked(work, tenant, worker, request, blocked);
  else if (!more) {
    const next = groups.next();
    nextAt = earlier(nextDue(work, worker), next.at);
    if (next.isFull && (nextAt === null || nextAt > now)) {
      blocked = 'group';
      nextAt = earlier(nextAt, now + ROOM_WAIT_MS);
    }
  }
  worker.wakeAt = lease.mode === 'push' ? nextAt : null;
  worker.changed = true;
  return { tasks, now, nextAt, blocked };
}

/** Of those with the least room the first. */
export function tightestBound(
  now: number,
  tenant: TenantTotals,
  worker: WorkerTotals,
  { concurrency, rate, tenantInFlight }: Pick<ClaimRequest, 'concurrency' | 'rate' | 'tenantInFlight'>,
): { readonly name: NonNullable<WorkerBlock>; readonly room: number } {
  const bounds: readonly (readonly [NonNullable<WorkerBlock>, number])[] = [
    ['throttled', (worker.throttledUntil ?? 0) > now ? 0 : Infinity],
    ['concurrency', concurrency === null ? Infinity : Math.max(0, concurrency - running(worker))],
    ['rate', rate === null ? Infinity : Math.floor(worker.bucket.tokens as number)],
    ['tenant_in_flight', Math.max(0, tenantInFlight - running(tenant))],
    ['tenant_rate', Math.floor(tenant.bucket.tokens as number)],
  ];
  const [name, room] = bounds.reduce((least, bound) => (bound[1] < least[1] ? bound : least));
  return { name, room };
}

function running({ counts }: TenantTotals): number {
  return counts[STATUS.running];
}

/** Returns the first tasks, up to the size of bodies that one call may read. */
function startSome(
  work: Work,
  tenant: TenantTotals,
  candidates: readonly Candidate[],
  request: ClaimRequest,
): ClaimedTask[] {
  const started: ClaimedTask[] = [];
  let bytes = 0;
  for (const [i, { seq }] of candidates.entries()) {
    if (bytes >= READ_BYTES) break;
    const claimed = start(work, tenant, seq, request.leaseIds[i], request);
    bytes += bodyBytes(claimed.body);
    started.push(claimed);
  }
  return started;
}

function start(
  work: Work,
  tenant: TenantTotals,
  seq: number,
  leaseId: string,
  { lease: { mode, ms }, actor }: ClaimRequest,
): ClaimedTask {
  const { now } = work;
  const stored = taskAt(work, seq);
  const { row } = stored;
  const dueAt = row.due_at as number;
  row.status = STATUS.running;
  row.attempt++;
  row.due_at = null;
  row.started_at ??= now;
  row.lease = leaseId;
  row.lease_cap = now + row.timeout + (mode === 'push' ? ms : 0);
  row.lease_until = mode === 'push' ? row.lease_cap : now + Math.min(ms, row.timeout);
  row.lease_event = null;
  row.wake = mode === 'push' ? 1 : 0;
  saveTask(work, tenant, stored, { event: 'started', actor: actorText(actor), lease: leaseId });
  return { task: shown(work, row), body: bodyAt(work, seq), leaseId, leaseUntil: row.lease_until, dueAt };
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function whenBlocked(
  work: Work,
  tenant: TenantTotals,
  worker: WorkerTotals,
  { rate, tenantPerSecond }: ClaimRequest,
  blocked: Blocked,
): number | null {
  switch (blocked) {
    case 'throttled':
      return worker.throttledUntil;
    case 'concurrency':
    case 'tenant_in_flight':
    case 'group':
      return work.now + ROOM_WAIT_MS;
    case 'rate':
      return rate === null ? null : nextTokenAt(worker.bucket, work.now, rate);
    case 'tenant_rate':
      return nextTokenAt(tenant.bucket, work.now, { limit: tenantPerSecond, perMs: 1_000 });
  }
}
