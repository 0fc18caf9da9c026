import { BAND_PENALTIES_MS, bodyBytes, type Task } from '../../../../src/tasks/model/task.ts';
import type {
  BlockQuery,
  ClaimAnswer,
  ClaimedTask,
  ClaimRequest,
} from '../../../../src/tasks/store/requests.ts';
import { READ_BYTES } from '../../../../src/tasks/store/task-store.ts';
import { isWaiting } from './changing.ts';
import {
  type Bucket,
  compareText,
  copyOf,
  type Lease,
  type TaskRecord,
  TENANT_BUCKET,
  type TenantState,
} from './state.ts';
import { changeTask } from './writing.ts';

/** How long to wait for an attempt to end. */
const ROOM_WAIT_MS = 1_000;

interface Rate {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/** What bounds a claim, with the room that is left. */
interface Bound {
  readonly name: NonNullable<ClaimAnswer['blocked']>;
  readonly room: number;
}

/** What would block a claim of one task, whether one is due or not. */
export function blocks(
  all: TenantState,
  now: number,
  { workers, tenantInFlight, tenantPerSecond }: BlockQuery,
): ClaimAnswer['blocked'][] {
  const tenantRate = { limit: tenantPerSecond, perMs: 1_000, burst: tenantPerSecond };
  return workers.map(worker => {
    const state = copyOf(all);
    if (worker.rate !== null) refill(state, now, worker.workerId, worker.rate);
    refill(state, now, TENANT_BUCKET, tenantRate);
    return bounds(state, now, { ...worker, tenantInFlight }).find(({ room }) => room < 1)?.name ?? null;
  });
}

export function claim(state: TenantState, now: number, request: ClaimRequest): ClaimAnswer {
  const { workerId, leaseIds, rate } = request;
  const tenantRate = { limit: request.tenantPerSecond, perMs: 1_000, burst: request.tenantPerSecond };
  const candidates = dueTasks(state, now, workerId).slice(0, leaseIds.length);

  let tasks: ClaimedTask[] = [];
  let blocked: ClaimAnswer['blocked'] = null;
  if (candidates.length > 0) {
    if (rate !== null) refill(state, now, workerId, rate);
    refill(state, now, TENANT_BUCKET, tenantRate);
    const tightest = bounds(state, now, request).reduce((least, bound) =>
      bound.room < least.room ? bound : least,
    );
    const room = candidates.slice(0, tightest.room);
    const started = room.slice(0, countWithin(room));
    if (tightest.room < candidates.length && started.length === room.length) blocked = tightest.name;
    tasks = started.map((record, i) => start(state, now, record, leaseIds[i], request));
    if (rate !== null) take(state, workerId, tasks.length);
    take(state, TENANT_BUCKET, tasks.length);
  }
  const nextAt = whenToAskAgain(state, now, request, blocked);
  if (request.lease.mode === 'push' && nextAt !== null) state.wakeups.set(workerId, nextAt);
  else state.wakeups.delete(workerId);
  return { tasks, now, nextAt, blocked };
}

/** How many may start: the last is the one with which the bodies come to the bound. */
function countWithin(records: readonly TaskRecord[]): number {
  let bytes = 0;
  const last = records.findIndex(({ body }) => {
    bytes += bodyBytes(body);
    return bytes >= READ_BYTES;
  });
  return last === -1 ? records.length : last + 1;
}

/** Tasks of the worker that wait and can still start. */
function waitingTasks(state: TenantState, now: number, workerId: string): TaskRecord[] {
  return [...state.tasks.values()].filter(
    ({ task }) =>
      task.workerId === workerId &&
      isWaiting(task) &&
      task.dueAt !== null &&
      (task.expiresAt === null || task.expiresAt > now),
  );
}

/** Those that are due, in the order in which they start. */
function dueTasks(state: TenantState, now: number, workerId: string): TaskRecord[] {
  return waitingTasks(state, now, workerId)
    .filter(({ task }) => task.dueAt! <= now)
    .sort((a, b) => place(a.task) - place(b.task) || compareText(a.task.id, b.task.id));
}

function place(task: Task): number {
  return task.dueAt! + BAND_PENALTIES_MS[task.priority];
}

/** In the order in which they are named when there is the same room. */
function bounds(
  state: TenantState,
  now: number,
  request: Pick<ClaimRequest, 'workerId' | 'concurrency' | 'rate' | 'tenantInFlight'>,
): Bound[] {
  const { workerId, concurrency, rate, tenantInFlight } = request;
  const running = [...state.tasks.values()].filter(({ task }) => task.status === 'running');
  const ofWorker = running.filter(({ task }) => task.workerId === workerId).length;
  const throttledUntil = state.throttles.get(workerId) ?? 0;
  return [
    { name: 'throttled', room: throttledUntil > now ? 0 : Infinity },
    { name: 'concurrency', room: concurrency === null ? Infinity : Math.max(0, concurrency - ofWorker) },
    { name: 'rate', room: rate === null ? Infinity : Math.floor(tokens(state, workerId)) },
    { name: 'tenant_in_flight', room: Math.max(0, tenantInFlight - running.length) },
    { name: 'tenant_rate', room: Math.floor(tokens(state, TENANT_BUCKET)) },
  ];
}

function refill(state: TenantState, now: number, name: string, { limit, perMs, burst }: Rate): void {
  const bucket: Bucket = state.buckets.get(name) ?? { tokens: burst, at: now };
  const filled = Math.min(burst, bucket.tokens + (Math.max(0, now - bucket.at) * limit) / perMs);
  state.buckets.set(name, { tokens: filled, at: now });
}

function take(state: TenantState, name: string, count: number): void {
  const bucket = state.buckets.get(name)!;
  state.buckets.set(name, { ...bucket, tokens: bucket.tokens - count });
}

function tokens(state: TenantState, name: string): number {
  return state.buckets.get(name)!.tokens;
}

function start(
  state: TenantState,
  now: number,
  record: TaskRecord,
  leaseId: string,
  { lease: { mode, ms }, actor }: ClaimRequest,
): ClaimedTask {
  const { timeoutMs, attempt, startedAt } = record.task;
  const lease: Lease =
    mode === 'push'
      ? { id: leaseId, until: now + timeoutMs + ms, latest: now + timeoutMs + ms }
      : { id: leaseId, until: now + Math.min(ms, timeoutMs), latest: now + timeoutMs };
  const changes = {
    status: 'running',
    attempt: attempt + 1,
    dueAt: null,
    startedAt: startedAt ?? now,
  } as const;
  const details = { event: 'started', actor, leaseIdSuffix: leaseId.slice(-4) } as const;
  const task = changeTask(state, now, record, changes, details, {
    lease,
    settled: null,
    wake: mode === 'push',
  });
  return { task, body: record.body, leaseId, leaseUntil: lease.until, dueAt: record.task.dueAt! };
}

function whenToAskAgain(
  state: TenantState,
  now: number,
  { workerId, rate, tenantPerSecond }: ClaimRequest,
  blocked: ClaimAnswer['blocked'],
): number | null {
  switch (blocked) {
    case 'throttled':
      return state.throttles.get(workerId)!;
    case 'concurrency':
    case 'tenant_in_flight':
      return now + ROOM_WAIT_MS;
    case 'rate':
      return nextToken(now, tokens(state, workerId), rate!);
    case 'tenant_rate':
      return nextToken(now, tokens(state, TENANT_BUCKET), { limit: tenantPerSecond, perMs: 1_000 });
    case null: {
      if (dueTasks(state, now, workerId).length > 0) return now;
      const times = waitingTasks(state, now, workerId).map(({ task }) => task.dueAt!);
      return times.length === 0 ? null : Math.min(...times);
    }
  }
}

function nextToken(now: number, left: number, { limit, perMs }: Pick<Rate, 'limit' | 'perMs'>): number {
  return now + Math.max(1, Math.ceil(((1 - left) * perMs) / limit));
}
