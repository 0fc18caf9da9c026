import { bodyBytes, type Task } from '../../../../src/tasks/model/task.ts';
import { BAND_PENALTIES_MS } from '../../../../src/tasks/model/task-content.ts';
import type {
  Block,
  BlockQuery,
  ClaimAnswer,
  ClaimedTask,
  ClaimRequest,
  GroupPlace,
  WorkerBlock,
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
  readonly name: NonNullable<WorkerBlock>;
  readonly room: number;
}

/** What would block a claim of one task, whether one is due or not. */
export function blocks(
  all: TenantState,
  now: number,
  { workers, tenantInFlight, tenantPerSecond }: BlockQuery,
): Block[] {
  const tenantRate = { limit: tenantPerSecond, perMs: 1_000, burst: tenantPerSecond };
  return workers.map(worker => {
    if (worker.inGroup !== null && isHeldByGroup(all, now, worker.workerId, worker.inGroup)) return 'group';
    const state = copyOf(all);
    if (worker.rate !== null) refill(state, now, worker.workerId, worker.rate);
    refill(state, now, TENANT_BUCKET, tenantRate);
    return bounds(state, now, { ...worker, tenantInFlight }).find(({ room }) => room < 1)?.name ?? null;
  });
}

function isHeldByGroup(
  state: TenantState,
  now: number,
  workerId: string,
  { group, rules, taskId }: GroupPlace,
): boolean {
  if (runningIn(state, { workerId, group }) >= rules.concurrency) return true;
  const line = waitingTasks(state, now, workerId)
    .map(({ task }) => task)
    .filter(task => task.group === group)
    .sort((a, b) => a.runAt - b.runAt || compareText(a.id, b.id));
  return rules.fifo && line.length > 0 && line[0].id !== taskId;
}

export function claim(state: TenantState, now: number, request: ClaimRequest): ClaimAnswer {
  const { workerId, leaseIds, rate } = request;
  const tenantRate = { limit: request.tenantPerSecond, perMs: 1_000, burst: request.tenantPerSecond };
  const due = startable(state, now, request);
  const candidates = due.slice(0, leaseIds.length);

  let tasks: ClaimedTask[] = [];
  let blocked: ClaimAnswer['blocked'] = null;
  if (due.length > 0) {
    if (rate !== null) refill(state, now, workerId, rate);
    refill(state, now, TENANT_BUCKET, tenantRate);
    const tightest = bounds(state, now, request).reduce((least, bound) =>
      bound.room < least.room ? bound : least,
    );
    const room = candidates.slice(0, tightest.room);
    const started = room.slice(0, countWithin(room));
    const wanted = Math.max(1, candidates.length);
    if (tightest.room < wanted && started.length === room.length) blocked = tightest.name;
    tasks = started.map((record, i) => start(state, now, record, leaseIds[i], request));
    if (rate !== null) take(state, workerId, tasks.length);
    take(state, TENANT_BUCKET, tasks.length);
  }
  blocked ??= isGroupFull(state, now, request) ? 'group' : null;
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

/** Those that are due and that their group lets start, in the order in which they start. */
function startable(state: TenantState, now: number, { workerId, groups }: ClaimRequest): TaskRecord[] {
  const due = dueTasks(state, now, workerId);
  if (groups === null) return due;
  const rooms = new Map<string, number>();
  return due.filter(({ task }) => {
    if (task.group === null) return true;
    if (groups.fifo && !isFirst(state, now, task)) return false;
    const room = rooms.get(task.group) ?? groups.concurrency - runningIn(state, task);
    rooms.set(task.group, room - 1);
    return room > 0;
  });
}

/** No task can start, and some only because of their groups' concurrency. */
function isGroupFull(state: TenantState, now: number, request: ClaimRequest): boolean {
  return startable(state, now, request).length === 0 && dueGroups(state, now, request).size > 0;
}

/** Groups with a due task that could start if there were room. */
function dueGroups(state: TenantState, now: number, { workerId, groups }: ClaimRequest): Set<string | null> {
  const due = dueTasks(state, now, workerId).filter(({ task }) => task.group !== null && groups !== null);
  return new Set(
    due.filter(({ task }) => !groups!.fifo || isFirst(state, now, task)).map(({ task }) => task.group),
  );
}

/** When the next task is due that nothing but its time keeps from starting; Infinity for none. */
function nextDue(state: TenantState, now: number, request: ClaimRequest): number {
  const { workerId, groups } = request;
  const full = dueGroups(state, now, request);
  const waiting = waitingTasks(state, now, workerId).filter(({ task }) => {
    if (task.group === null || groups === null) return true;
    return !full.has(task.group) && (!groups.fifo || isFirst(state, now, task));
  });
  return Math.min(...waiting.map(({ task }) => task.dueAt!));
}

/** No other task of the group that waits was to run before. */
function isFirst(state: TenantState, now: number, task: Task): boolean {
  return waitingTasks(state, now, task.workerId).every(
    ({ task: other }) =>
      other.group !== task.group ||
      other.runAt > task.runAt ||
      (other.runAt === task.runAt && other.id >= task.id),
  );
}

function runningIn(state: TenantState, { workerId, group }: Pick<Task, 'workerId' | 'group'>): number {
  return [...state.tasks.values()].filter(
    ({ task }) => task.status === 'running' && task.workerId === workerId && task.group === group,
  ).length;
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
      ? { id: leaseId, from: now, until: now + timeoutMs + ms, latest: now + timeoutMs + ms }
      : { id: leaseId, from: now, until: now + Math.min(ms, timeoutMs), latest: now + timeoutMs };
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
  request: ClaimRequest,
  blocked: ClaimAnswer['blocked'],
): number | null {
  const { workerId, rate, tenantPerSecond } = request;
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
    case 'group':
      return Math.min(now + ROOM_WAIT_MS, nextDue(state, now, request));
    case null: {
      if (startable(state, now, request).length > 0) return now;
      const at = nextDue(state, now, request);
      return at === Infinity ? null : at;
    }
  }
}

function nextToken(now: number, left: number, { limit, perMs }: Pick<Rate, 'limit' | 'perMs'>): number {
  return now + Math.max(1, Math.ceil(((1 - left) * perMs) / limit));
}
