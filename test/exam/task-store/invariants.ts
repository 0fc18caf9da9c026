import { isFinal, TASK_STATUSES, type Task } from '../../../src/tasks/model/task.ts';
import type { TaskQuery } from '../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { idsOf, taskQuery } from '../../support/tasks/factories.ts';
import { boundViolations, type TenantBounds } from './bound-invariants.ts';
import { historyViolations } from './history-invariants.ts';
import { snapshotOf, type TenantSnapshot } from './snapshot.ts';

/** What is known from elsewhere of what the store should hold, each by tenant. */
export interface Expectations {
  /** Ids of tasks whose creation was answered with success, and that were not removed since. */
  readonly created?: ReadonlyMap<string, readonly string[]>;
  /** What all claims asked for. */
  readonly bounds?: ReadonlyMap<string, TenantBounds>;
  /** All work is done: every task must have ended. */
  readonly finished?: boolean;
}

/**
 * Which of the invariants of specification 5.1 do not hold, as far as a store can be asked: a line for each violation,
 * which begins with the number of the invariant. Nothing must change meanwhile.
 */
export async function violationsOf(store: TaskStore, expectations: Expectations = {}): Promise<string[]> {
  const violations: string[] = [];
  const snapshots = await snapshotOf(store);
  for (const [tenant, snapshot] of snapshots) {
    const report = (text: string) => violations.push(`${text} (tenant ${tenant})`);
    for (const id of expectations.created?.get(tenant) ?? []) {
      if (!snapshot.bodies.has(id)) report(`1: ${id} was answered with success and is not there`);
    }
    for (const task of snapshot.tasks) {
      if (expectations.finished && !isFinal(task.status)) report(`2: ${task.id} is still ${task.status}`);
      const entries = snapshot.histories.get(task.id);
      if (!entries) report(`4: ${task.id} has no history`);
      else for (const text of historyViolations(task, entries)) report(`${text}: ${task.id}`);
    }
    for (const text of fieldViolations(snapshot)) report(text);
    for (const text of sharedViolations(snapshot)) report(text);
    for (const text of boundViolations(snapshot, expectations.bounds?.get(tenant))) report(text);
    for (const text of await listViolations(store, tenant, snapshot)) report(text);
    for (const text of documentViolations(snapshot)) report(text);
  }
  for (const text of await overdueViolations(store, snapshots)) violations.push(text);
  for (const text of tenantViolations(snapshots)) violations.push(text);
  return violations;
}

/** Whether the fields of each task fit its status. */
function fieldViolations({ tasks, bodies }: TenantSnapshot): string[] {
  const violations: string[] = [];
  const byId = new Map(tasks.map(task => [task.id, task]));
  for (const task of tasks) {
    const { id, status, dueAt, heldBy, startedAt, finishedAt } = task;
    const check = (holds: boolean, text: string) => {
      if (!holds) violations.push(`4: ${id} is ${status} and ${text}`);
    };
    const waits = !isFinal(status) && status !== 'running';
    check((dueAt !== null) === (waits && heldBy === null), `is due at ${dueAt}, held by ${heldBy}`);
    check((finishedAt !== null) === isFinal(status), `finished at ${finishedAt}`);
    check(startedAt !== null || (status !== 'running' && status !== 'retry'), 'has never started');
    check(bodies.get(id)?.result === null || status === 'succeeded', 'has a result');
    check(task.cancelRequestedAt === null || !waits, 'was asked to stop');
    const holder = heldBy === null ? undefined : byId.get(heldBy);
    check(heldBy === null || (holder !== undefined && !isFinal(holder.status)), 'held by one that has ended');
    check(task.attempt >= 0 && task.version >= 1, `has attempt ${task.attempt}, version ${task.version}`);
  }
  return violations;
}

/** One task per nominal time of a schedule; live tasks of a key wait for one another. */
function sharedViolations({ tasks }: TenantSnapshot): string[] {
  const violations: string[] = [];
  const fires = new Map<string, string>();
  const unheld = new Map<string, Task>();
  for (const task of tasks) {
    if (task.scheduleId !== null && task.scheduledFor !== null) {
      const fire = `${task.scheduleId} at ${task.scheduledFor}`;
      const other = fires.get(fire);
      if (other !== undefined) violations.push(`8: ${other} and ${task.id} are both of ${fire}`);
      fires.set(fire, task.id);
    }
    if (task.key === null || isFinal(task.status)) continue;
    const holder = tasks.find(({ id }) => id === task.heldBy);
    if (holder?.key === task.key && holder.workerId === task.workerId) continue;
    const key = `${task.workerId} ${task.key}`;
    const other = unheld.get(key);
    if (other !== undefined) violations.push(`9: ${other.id} and ${task.id} are both live with key ${key}`);
    unheld.set(key, task);
  }
  return violations;
}

/** Whether every list holds what a look at each task finds, and counters what counting finds. */
async function listViolations(
  store: TaskStore,
  tenant: string,
  { tasks, counts, countsOfWorkers, openOfSchedules }: TenantSnapshot,
): Promise<string[]> {
  const violations: string[] = [];
  const compare = (number: number, what: string, found: unknown, expected: unknown) => {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    if (a !== b) violations.push(`${number}: ${what}: found ${a}, expected ${b}`);
  };
  const list = async (query: Partial<TaskQuery>, belongs: (task: Task) => boolean) => {
    const found: string[] = [];
    for (let after: string | null = null; ; ) {
      const page: readonly Task[] = await store.list(tenant, taskQuery({ ...query, after, limit: 50 }));
      found.push(...idsOf(page));
      if (page.length < 50) break;
      after = page[49].id;
    }
    compare(10, `list ${JSON.stringify(query)}`, found, idsOf(tasks.filter(belongs)));
  };
  for (const workerId of [null, ...countsOfWorkers.keys()]) {
    const ofWorker = (task: Task) => workerId === null || task.workerId === workerId;
    await list({ workerId }, ofWorker);
    const counted = workerId === null ? counts : countsOfWorkers.get(workerId);
    for (const status of TASK_STATUSES) {
      const belongs = (task: Task) => ofWorker(task) && task.status === status;
      await list({ workerId, statuses: [status] }, belongs);
      const name = `counter ${status} of ${workerId ?? 'all'}`;
      compare(11, name, counted?.[status], tasks.filter(belongs).length);
    }
  }
  for (const [scheduleId, open] of openOfSchedules) {
    const ofSchedule = (task: Task) => task.scheduleId === scheduleId;
    await list({ scheduleId }, ofSchedule);
    const live = tasks.filter(task => ofSchedule(task) && !isFinal(task.status));
    compare(10, `open of schedule ${scheduleId}`, open, idsOf(live));
  }
  const newest = await store.list(tenant, taskQuery({ order: 'desc' }));
  compare(10, 'newest first', idsOf(newest), idsOf(tasks).reverse().slice(0, 1_000));
  for (const { id } of tasks) {
    const task = await store.get(tenant, id);
    compare(
      10,
      `task ${id} itself`,
      task,
      tasks.find(other => other.id === id),
    );
  }
  return violations;
}

function documentViolations({ documents }: TenantSnapshot): string[] {
  const seen = new Set<string>();
  const violations: string[] = [];
  for (const { kind, id, version } of documents) {
    if (seen.has(`${kind} ${id}`)) violations.push(`10: ${kind} ${id} is listed twice`);
    seen.add(`${kind} ${id}`);
    if (version < 1) violations.push(`10: ${kind} ${id} has version ${version}`);
  }
  return violations;
}

/** Whether everything is told of that should have expired, and nothing else. */
async function overdueViolations(
  store: TaskStore,
  snapshots: ReadonlyMap<string, TenantSnapshot>,
): Promise<string[]> {
  const now = await store.now();
  const violations: string[] = [];
  const overdue = await store.overdue(1_000_000);
  for (const [tenant, { tasks }] of snapshots) {
    const told = overdue.filter(found => found.tenant === tenant);
    const found = idsOf(told.flatMap(({ expired }) => expired)).sort();
    const expected = tasks.filter(
      ({ status, expiresAt }) =>
        (status === 'scheduled' || status === 'retry') && expiresAt !== null && expiresAt <= now,
    );
    if (found.join() !== idsOf(expected).join()) {
      violations.push(`10: expired: found ${found}, expected ${idsOf(expected)} (tenant ${tenant})`);
    }
    for (const { leaseId, task } of told.flatMap(({ leases }) => leases)) {
      const leased = await store.leased(tenant, leaseId);
      if (leased?.id !== task.id || leased.status !== 'running') {
        violations.push(`10: the lease of ${task.id} is over, and it is not running (tenant ${tenant})`);
      }
    }
  }
  return violations;
}

/** No task and no document with a secret is that of two tenants. */
function tenantViolations(snapshots: ReadonlyMap<string, TenantSnapshot>): string[] {
  const owners = new Map<string, string>();
  const violations: string[] = [];
  for (const [tenant, { tasks }] of snapshots) {
    for (const { id } of tasks) {
      const other = owners.get(id);
      if (other !== undefined) violations.push(`12: ${id} is in ${other} and in ${tenant}`);
      owners.set(id, tenant);
    }
  }
  return violations;
}
