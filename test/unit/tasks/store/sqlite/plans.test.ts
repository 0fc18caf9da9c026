import t from 'tap';
import { FINAL_STATUSES, TASK_STATUSES, type TaskStatus } from '../../../../../src/tasks/model/task.ts';
import type { TaskChange } from '../../../../../src/tasks/store/requests.ts';
import { nodeSqlite } from '../../../../../src/tasks/store/sqlite/file/open-file.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import {
  Factory,
  historyQuery,
  idempotency,
  PULLER,
  settlement,
  taskChange,
  taskQuery,
  taskSearch,
} from '../../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';

const TENANT = 'acme';
const START = Date.UTC(2026, 2, 1);
const DAY = 86_400_000;

const path = storePath(t);
const clock = new ManualClock(START);
const make = new Factory(clock);
const worker = make.worker();
const statements = new Set<string>();

/** Every statement that `run` has a store prepare. */
async function gather(run: () => Promise<void>): Promise<void> {
  const { DatabaseSync } = nodeSqlite();
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (sql) {
    if (!/^\s*(PRAGMA|BEGIN|COMMIT|SAVEPOINT|ROLLBACK|RELEASE|INSERT)/.test(sql)) statements.add(sql);
    return prepare.call(this, sql);
  };
  try {
    await run();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
}

function planOf(sql: string): string[] {
  const db = new (nodeSqlite().DatabaseSync)(path);
  try {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
    return rows.map(({ detail }) => detail);
  } finally {
    db.close();
  }
}

/** What costs more the more there is: a walk over a whole table or index, and sorting. A part that is bounded may be walked. */
function costs(plan: readonly string[]): string[] {
  return plan.filter(line => /\bSCAN (?!\(subquery)|TEMP B-TREE|AUTOMATIC/.test(line));
}

async function listEveryWay(store: TaskStore): Promise<void> {
  const sets: (readonly TaskStatus[] | null)[] = [null];
  for (let count = 1; count <= TASK_STATUSES.length; count++) sets.push(TASK_STATUSES.slice(0, count));
  for (const order of ['asc', 'desc'] as const) {
    for (const statuses of sets) {
      for (const workerId of [null, worker.id]) {
        for (const scheduleId of [null, 'sch_1']) {
          await store.list(TENANT, taskQuery({ order, statuses, workerId, scheduleId, after: 'tsk_0' }));
        }
      }
    }
    await store.search(TENANT, taskSearch({ order, key: 'k', after: 'tsk_0' }));
    await store.search(TENANT, taskSearch({ order, by: 'run_at', workerId: worker.id, after: '5 tsk_0' }));
    for (const parent of [undefined, worker.id]) {
      for (const after of [null, 'sec_0']) {
        const query = { kind: 'secret', after, limit: 5, order } as const;
        await store.listDocuments(TENANT, parent === undefined ? query : { ...query, parent });
      }
    }
  }
  await store.countDocuments(TENANT, 'secret');
  await store.history(TENANT, 'tsk_0', historyQuery({ order: 'desc' }));
}

/** So that a group is full, waits, or has nothing left; with and without an order. */
async function claimGroups(store: TaskStore): Promise<void> {
  for (const fifo of [false, true]) {
    const group = `${fifo}`;
    const due = [make.newTask(worker, { group }), make.newTask(worker, { group })];
    const later = make.newTask(worker, { group: 'later', runAt: START + DAY / 2 });
    await store.create(TENANT, make.createRequest([...due, later]));
    const groups = { concurrency: 1, fifo };
    const { tasks } = await store.claim(TENANT, make.claimRequest(worker.id, 5, { groups }));
    await store.claim(TENANT, make.claimRequest(worker.id, 5, { groups }));
    for (const { leaseId } of tasks) await store.settle(TENANT, [settlement(leaseId, 'succeeded')]);
    await store.claim(TENANT, make.claimRequest(worker.id, 5));
  }
}

/** All that there is of a tenant without tasks. */
async function forget(store: TaskStore, tenant: string): Promise<void> {
  const account = make.account(tenant);
  await store.apply(tenant, [account], idempotency('i'));
  await store.setWakeup(tenant, worker.id, START);
  await store.forgetTenant(tenant, null);
  await store.apply(tenant, [{ op: 'delete', kind: 'account', id: account.id, expect: 'any' }]);
}

/** Each operation, so that it does all that it can. */
async function doEverything(store: TaskStore): Promise<void> {
  await store.apply(TENANT, [make.account(TENANT), worker, make.secret(worker.id)]);
  const task = (rest: object = {}, onConflict: 'return' | 'replace' = 'return') =>
    make.newTask(worker, { expiresAt: START + DAY, ...rest }, { onConflict, wake: true });
  const create = async (...tasks: ReturnType<typeof task>[]) =>
    store.create(TENANT, make.createRequest(tasks, { idempotency: idempotency(tasks[0].task.id) }));
  const first = task({ key: 'k', scheduleId: 'sch_1', keyTtlMs: 5 });
  await create(first, task({ heldBy: first.task.id }), task());
  await create(task({ key: 'k', type: 'other' }, 'replace'));
  const change = (action: TaskChange['action'], patch: TaskChange['patch'] = {}) =>
    store.change(TENANT, first.task.id, taskChange(action, patch));
  await change('update', { payload: '1', tags: ['a'] });
  await change('pause');
  await change('resume');
  const { tasks } = await store.claim(TENANT, make.claimRequest(worker.id, 2));
  for (const { leaseId } of tasks) {
    await store.extend(TENANT, leaseId, 5, { percent: 1, note: null, actor: PULLER });
    await store.leased(TENANT, leaseId);
    await store.settle(TENANT, [settlement(leaseId, 'succeeded', { result: '1' })]);
  }
  await claimGroups(store);
  await change('replay');
  await change('cancel');
  clock.advance(DAY);
  await store.overdue(10);
  await store.wakeups(clock.nowMs(), 10);
  await store.setWakeup(TENANT, worker.id, null);
  await store.dueDocuments(10);
  await store.openOfSchedule(TENANT, 'sch_1', 5);
  await store.history(TENANT, first.task.id, historyQuery());
  await store.getWhole(TENANT, first.task.id);
  await store.bodies(TENANT, [first.task.id]);
  await store.blocks(TENANT, {
    workers: [
      {
        ...make.claimRequest(worker.id, 1),
        inGroup: { group: 'a', rules: { concurrency: 1, fifo: true }, taskId: first.task.id },
      },
    ],
    tenantInFlight: 1,
    tenantPerSecond: 1,
  });
  await store.counts(TENANT, worker.id);
  await store.counts(TENANT, null);
  await store.countDue(10);
  await store.dueOf(TENANT);
  await store.tenants(null, 10);
  await forget(store, 'globex');
  await store.findDocument(TENANT, 'name:worker:mailer');
  await store.getDocument(TENANT, 'worker', worker.id);
  await store.remove(TENANT, first.task.id, null);
  await store.purge(TENANT, { succeededMs: 0, otherMs: 0 }, 10);
  await store.apply(TENANT, [
    { op: 'delete', kind: 'worker', id: worker.id, expect: 'any', children: 'secret' },
    make.worker({ name: 'other' }, { atMost: 10 }),
  ]);
}

t.test('every statement finds what it wants in an index, in order', async t => {
  const store = sameThreadSqliteStore({ path }, clock);
  await store.start();
  await gather(async () => {
    await doEverything(store);
    await listEveryWay(store);
  });
  await store.stop();

  t.ok(statements.size > 90, `${statements.size} statements`);
  for (const sql of statements) {
    const plan = planOf(sql);
    t.strictSame(costs(plan), [], sql.replace(/\s+/g, ' ').slice(0, 150), { plan });
  }
});

t.test('what is claimed next is read from the index alone', async t => {
  const due = [...statements].filter(
    sql => /^(?!SELECT count).*INDEXED BY task_due\b/s.test(sql) && !sql.includes('(due_at, id)'),
  );
  t.equal(due.length, 2);
  for (const sql of due)
    t.match(planOf(sql).join(), /COVERING INDEX task_due \(worker=\? AND band=\? AND due_at[<>]\?\)/);
});

t.test('groups, and what is claimed next of them, are read from indexes alone', async t => {
  const lines = [...statements].filter(
    sql => sql.startsWith('SELECT') && sql.includes('INDEXED BY task_group') && !sql.includes('UNION'),
  );
  t.equal(lines.length, 5);
  for (const sql of lines) t.match(planOf(sql).join(), /COVERING INDEX task_group_/);
});

t.test('what is due in all is counted in the index alone, no further than asked for', async t => {
  const [sql] = [...statements].filter(sql => /INDEXED BY task_due_at/.test(sql));
  t.match(planOf(sql).join(), /COVERING INDEX task_due_at \(due_at<\?\)/);
});

t.test('a list of several statuses merges their ranges, which are bounded by ids', async t => {
  const merged = [...statements].find(sql => /task_worker/.test(sql) && sql.split('UNION').length === 3)!;
  const plan = planOf(merged);
  t.match(plan.join(), /MERGE \(UNION ALL\)/);
  const ranges = plan.filter(line =>
    /USING INDEX task_worker \(worker=\? AND status=\? AND id>\? AND id<\?\)/.test(line),
  );
  t.equal(ranges.length, 3);
});

t.test('tasks of a key are a range of ids', async t => {
  const ofKey = [...statements].filter(sql => /INDEXED BY task_of_key/.test(sql));
  t.equal(ofKey.length, 2);
  for (const sql of ofKey) {
    t.match(planOf(sql).join(), /USING INDEX task_of_key \(tenant=\? AND key=\? AND id>\? AND id<\?\)/);
  }
});

t.test('waiting tasks by due time merge a range of each priority, from one place to another', async t => {
  const waiting = [...statements].filter(sql => /\(due_at, id\) > /.test(sql));
  t.equal(waiting.length, 2);
  for (const sql of waiting) {
    const plan = planOf(sql);
    t.match(plan.join(), /MERGE \(UNION ALL\)/);
    const ranges = plan.filter(line =>
      /INDEX task_due \(worker=\? AND band=\? AND \(due_at,id\)>\(\?,\?\) AND \(due_at,id\)<\(\?,\?\)\)/.test(
        line,
      ),
    );
    t.equal(ranges.length, 5, plan.join());
  }
});

t.test('retention reads what ended first, of each final status', async t => {
  const over = [...statements].find(sql => /INDEXED BY task_end/.test(sql))!;
  t.match(planOf(over).join(), /INDEX task_end \(tenant=\? AND status=\? AND finished_at<\?\)/);
  t.equal(FINAL_STATUSES.length, 4, 'which the index has by its condition');
});
