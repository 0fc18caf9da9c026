import type { Rate } from '../../../model/documents.ts';
import { bodyBytes } from '../../../model/task.ts';
import { actorText } from '../../actor-text.ts';
import { STATUS, STATUS_CODES } from '../../codes.ts';
import type {
  Block,
  BlockQuery,
  ClaimAnswer,
  ClaimedTask,
  ClaimRequest,
  GroupPlace,
  WorkerBlock,
} from '../../requests.ts';
import { READ_BYTES } from '../../task-store.ts';
import { saveTask } from '../rows/save.ts';
import { bodyAt, shown, taskAt } from '../rows/task-row.ts';
import {
  type Bucket,
  readTenant,
  readWorker,
  type TenantTotals,
  type View,
  type Work,
  type WorkerTotals,
} from '../rows/work.ts';
import { type Candidate, dueTasks, GROUP_FIRST, GroupLines, inOrder, nextDue } from './candidates.ts';

/** Delay until the next claim if attempts must end first. */
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
    // A claim without leases is blocked by what would block a claim of one task.
    if (tightest.room < Math.max(1, candidates.length) && !isCut) blocked = tightest.name;
    if (rate !== null) take(worker.bucket, tasks.length);
    take(tenant.bucket, tasks.length);
  }
  groups.served(started);
  const more = isCut || due.length > candidates.length;
  let nextAt: number | null = now;
  if (blocked !== null) nextAt = whenBlocked(now, { tenant, worker }, request, blocked);
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

/** The bound with the least room; the first one of several. */
function tightestBound(
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

/** Starts the first candidates, until their bodies reach the size that one call may read. */
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
  row.began_at = now;
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
  now: number,
  { tenant, worker }: { readonly tenant: TenantTotals; readonly worker: WorkerTotals },
  { rate, tenantPerSecond }: ClaimRequest,
  blocked: Blocked,
): number | null {
  switch (blocked) {
    case 'throttled':
      return worker.throttledUntil;
    case 'concurrency':
    case 'tenant_in_flight':
    case 'group':
      return now + ROOM_WAIT_MS;
    case 'rate':
      return rate === null ? null : nextTokenAt(worker.bucket, now, rate);
    case 'tenant_rate':
      return nextTokenAt(tenant.bucket, now, { limit: tenantPerSecond, perMs: 1_000 });
  }
}

const GROUP_RUNNING = 'SELECT running FROM task_group WHERE worker = ? AND name = ?';

/** Reads totals for this call only, so refilling their buckets changes nothing in the store. */
export function blocks(
  view: View,
  tenantName: string,
  { workers, tenantInFlight, tenantPerSecond }: BlockQuery,
): readonly Block[] {
  const { statements, numbers, now } = view;
  const number = numbers.ofTenant(tenantName);
  if (number === null) return workers.map(() => null);
  const tenant = readTenant(statements, number);
  refill(tenant.bucket, now, { limit: tenantPerSecond, perMs: 1_000, burst: tenantPerSecond });
  return workers.map(({ workerId, concurrency, rate, inGroup }) => {
    const workerNumber = numbers.ofWorker(number, workerId);
    if (workerNumber !== null && inGroup !== null && isHeldByGroup(view, workerNumber, inGroup))
      return 'group';
    const worker = workerNumber === null ? unused() : readWorker(statements, workerNumber);
    if (rate !== null) refill(worker.bucket, now, rate);
    const { name, room } = tightestBound(now, tenant, worker, { concurrency, rate, tenantInFlight });
    return room < 1 ? name : null;
  });
}

function isHeldByGroup(
  { statements, now }: View,
  worker: number,
  { group, rules, taskId }: GroupPlace,
): boolean {
  const running = statements.one(GROUP_RUNNING, worker, group);
  if (running !== undefined && (running[0] as number) >= rules.concurrency) return true;
  if (!rules.fifo) return false;
  const first = statements.one(GROUP_FIRST, worker, group, now);
  return first !== undefined && first[2] !== taskId;
}

/** The totals of a worker that never had a task. */
function unused(): WorkerTotals {
  const bucket = { tokens: null, at: null };
  const counts = STATUS_CODES.map(() => 0);
  return { number: 0, bucket, counts, throttledUntil: null, wakeAt: null, changed: false };
}

/** Adds the tokens since the last refill. A bucket is full at first. If the clock was set back, no tokens are removed. */
function refill(bucket: Bucket, now: number, { limit, perMs, burst }: Rate): void {
  const { tokens, at } = bucket;
  const filled = tokens === null || at === null ? burst : tokens + (Math.max(0, now - at) * limit) / perMs;
  bucket.tokens = Math.min(burst, filled);
  bucket.at = now;
}

function take(bucket: Bucket, count: number): void {
  bucket.tokens = (bucket.tokens as number) - count;
}

/** When the bucket has a whole token, in milliseconds since the epoch. */
function nextTokenAt(bucket: Bucket, now: number, { limit, perMs }: Pick<Rate, 'limit' | 'perMs'>): number {
  return now + Math.max(1, Math.ceil(((1 - (bucket.tokens as number)) * perMs) / limit));
}

export function setWakeup(work: Work, tenant: string, workerId: string, at: number | null): void {
  if (at === null && work.findTenant(tenant) === null) return;
  const totals = work.tenant(tenant);
  const worker = at === null ? work.findWorker(totals, workerId) : work.worker(totals, workerId);
  if (worker === null) return;
  worker.wakeAt = at;
  worker.changed = true;
}
