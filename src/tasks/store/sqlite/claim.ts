import { BAND_PENALTIES_MS, bodyBytes, PRIORITIES } from '../../model/task.ts';
import type { ClaimAnswer, ClaimedTask, ClaimRequest } from '../requests.ts';
import { READ_BYTES } from '../task-store.ts';
import { nextTokenAt, refill, take } from './bucket.ts';
import { STATUS } from './codes.ts';
import { bodyAt, shown, taskAt } from './read-task.ts';
import { saveTask } from './save.ts';
import { LIMIT } from './statements.ts';
import { actorText } from './task-row.ts';
import type { TenantTotals, WorkerTotals } from './totals.ts';
import type { Work } from './work.ts';

/** How long to wait for an attempt to end. */
const ROOM_WAIT_MS = 1_000;

/** Everything that they name is in the index, but for the status, which the index has by its own condition. */
const WAITING = `FROM task INDEXED BY task_due WHERE worker = ? AND band = ? AND status IN (0, 2)`;
const UNEXPIRED = '(expires_at IS NULL OR expires_at > ?)';
export const DUE = `SELECT seq, due_at, id ${WAITING} AND due_at <= ? AND ${UNEXPIRED} ORDER BY due_at, id ${LIMIT}`;
export const NEXT_DUE = `SELECT due_at ${WAITING} AND due_at IS NOT NULL AND ${UNEXPIRED} ORDER BY due_at LIMIT 1`;

const PENALTIES = PRIORITIES.map(priority => BAND_PENALTIES_MS[priority]);

interface Candidate {
  readonly seq: number;
  readonly id: string;
  /** Due time and penalty. */
  readonly place: number;
}

type Blocked = NonNullable<ClaimAnswer['blocked']>;

export function claim(work: Work, tenantName: string, request: ClaimRequest): ClaimAnswer {
  const { now } = work;
  const { leaseIds, rate, lease } = request;
  const tenant = work.findTenant(tenantName);
  const worker = tenant === null ? null : work.findWorker(tenant, request.workerId);
  if (tenant === null || worker === null) return { tasks: [], now, nextAt: null, blocked: null };

  const due = dueTasks(work, worker, leaseIds.length + 1);
  const candidates = due.slice(0, leaseIds.length);
  let tasks: ClaimedTask[] = [];
  let blocked: Blocked | null = null;
  let isCut = false;
  if (candidates.length > 0) {
    const tenantRate = { limit: request.tenantPerSecond, perMs: 1_000, burst: request.tenantPerSecond };
    if (rate !== null) refill(worker.bucket, now, rate);
    refill(tenant.bucket, now, tenantRate);
    tenant.changed = true;
    const tightest = tightestBound(now, tenant, worker, request);
    const room = Math.min(tightest.room, candidates.length);
    tasks = startSome(work, tenant, candidates.slice(0, room), request);
    isCut = tasks.length < room;
    if (tightest.room < candidates.length && !isCut) blocked = tightest.name;
    if (rate !== null) take(worker.bucket, tasks.length);
    take(tenant.bucket, tasks.length);
  }
  const more = isCut || due.length > candidates.length;
  const nextAt = blocked === null && more ? now : whenToAskAgain(work, tenant, worker, request, blocked);
  worker.wakeAt = lease.mode === 'push' ? nextAt : null;
  worker.changed = true;
  return { tasks, now, nextAt, blocked };
}

/** Those that may start, in the order in which they start, at most so many: the heads of all bands, merged. */
function dueTasks({ statements, now }: Work, { number }: WorkerTotals, max: number): Candidate[] {
  const found: Candidate[] = [];
  for (let band = 0; band < PENALTIES.length; band++) {
    for (const [seq, dueAt, id] of statements.all(DUE, number, band, now, now, max)) {
      const place = (dueAt as number) + PENALTIES[band];
      found.push({ seq: seq as number, id: id as string, place });
    }
  }
  found.sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
  return found.length > max ? found.slice(0, max) : found;
}

/** Of those with the least room the first. */
export function tightestBound(
  now: number,
  tenant: TenantTotals,
  worker: WorkerTotals,
  { concurrency, rate, tenantInFlight }: Pick<ClaimRequest, 'concurrency' | 'rate' | 'tenantInFlight'>,
): { readonly name: Blocked; readonly room: number } {
  const bounds: readonly (readonly [Blocked, number])[] = [
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

function whenToAskAgain(
  work: Work,
  tenant: TenantTotals,
  worker: WorkerTotals,
  { rate, tenantPerSecond }: ClaimRequest,
  blocked: Blocked | null,
): number | null {
  switch (blocked) {
    case 'throttled':
      return worker.throttledUntil;
    case 'concurrency':
    case 'tenant_in_flight':
      return work.now + ROOM_WAIT_MS;
    case 'rate':
      return rate === null ? null : nextTokenAt(worker.bucket, work.now, rate);
    case 'tenant_rate':
      return nextTokenAt(tenant.bucket, work.now, { limit: tenantPerSecond, perMs: 1_000 });
    case null:
      return nextDue(work, worker);
  }
}

/** When the first of the worker's waiting tasks is due; null when none waits. */
function nextDue({ statements, now }: Work, { number }: WorkerTotals): number | null {
  let earliest: number | null = null;
  for (let band = 0; band < PENALTIES.length; band++) {
    const row = statements.one(NEXT_DUE, number, band, now);
    if (row !== undefined && (earliest === null || (row[0] as number) < earliest))
      earliest = row[0] as number;
  }
  return earliest;
}
