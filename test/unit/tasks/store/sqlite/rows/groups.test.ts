import t from 'tap';
import { nodeSqlite } from '../../../../../../src/tasks/store/sqlite/file/open-file.ts';
import { MIGRATIONS, migrate } from '../../../../../../src/tasks/store/sqlite/file/schema.ts';
import { call, randomSteps } from '../../../../../exam/task-store/random-steps.ts';
import { START } from '../../../../../exam/task-store/scene.ts';
import { ManualClock } from '../../../../../support/manual-clock.ts';
import { Factory } from '../../../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../../support/tasks/sqlite-files.ts';

function rowsOf(path: string, sql: string): unknown[] {
  const db = new (nodeSqlite().DatabaseSync)(path);
  try {
    return db
      .prepare(sql)
      .all()
      .map(row => ({ ...row }));
  } finally {
    db.close();
  }
}

const RUNNING = `SELECT worker, grp AS name, count(*) AS n FROM task
  WHERE status = 1 AND grp IS NOT NULL GROUP BY worker, grp ORDER BY worker, grp`;
const COUNTED = 'SELECT worker, name, running AS n FROM task_group WHERE running <> 0 ORDER BY worker, name';
/** Groups with a row that nothing belongs to, or without one although something waits. */
const LEFT_OVER = `SELECT worker, name FROM task_group AS g WHERE running = 0 AND NOT EXISTS (
  SELECT 1 FROM task WHERE worker = g.worker AND grp = g.name AND status IN (0, 2) AND due_at IS NOT NULL)`;
const forgotten = (
  now: number,
) => `SELECT DISTINCT worker, grp FROM task WHERE grp IS NOT NULL AND status IN (0, 2)
  AND due_at IS NOT NULL AND (expires_at IS NULL OR expires_at > ${now}) AND NOT EXISTS (SELECT 1 FROM task_group AS g
    WHERE g.worker = task.worker AND g.name = task.grp AND (g.next_at IS NOT NULL OR g.full IS NOT NULL))`;

t.test('running tasks of groups are counted as they are, and no group is left over or forgotten', async t => {
  for (let seed = 501; seed < 507; seed++) {
    const path = storePath(t);
    const clock = new ManualClock(START);
    const store = sameThreadSqliteStore({ path }, clock);
    await store.start();
    for (const [i, step] of (await randomSteps(seed, 250)).entries()) {
      if ('advanceMs' in step) clock.advance(step.advanceMs);
      else await call(store, step);
      if (i % 10 !== 0) continue;
      t.strictSame(rowsOf(path, COUNTED), rowsOf(path, RUNNING));
      t.strictSame(rowsOf(path, LEFT_OVER), []);
      t.strictSame(rowsOf(path, forgotten(clock.nowMs())), []);
    }
    await store.stop();
  }
});

t.test('tasks of a file without groups are claimed as before', async t => {
  const path = storePath(t);
  const clock = new ManualClock(START);
  const make = new Factory(clock);
  const worker = make.worker();
  const db = new (nodeSqlite().DatabaseSync)(path);
  migrate(db, path, MIGRATIONS.slice(0, 2));
  db.exec(`INSERT INTO tenant (no, name, known, n0) VALUES (1, 'acme', 1, 1);
    INSERT INTO worker (no, tenant, id, n0) VALUES (1, 1, '${worker.id}', 1);
    INSERT INTO task (seq, tenant, id, worker, status, band, due_at, run_at, attempt, deferrals, events, version,
      created_at, updated_at, key_ttl, wake, timeout, worker_name, retry, created_by)
      VALUES (1, 1, 'tsk_1', 1, 0, 2, 5, 5, 0, 0, 1, 1, 5, 5, 0, 0, 1000, 'mailer', '{"maxAttempts":3}', 'user:u');
    INSERT INTO body (seq) VALUES (1);`);
  db.close();
  const store = sameThreadSqliteStore({ path }, clock);
  await store.start();
  const { tasks } = await store.claim('acme', make.claimRequest(worker.id, 5));
  t.strictSame(
    tasks.map(({ task }) => [task.id, task.group]),
    [['tsk_1', null]],
  );
  await store.stop();
});
