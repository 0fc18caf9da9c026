import t from 'tap';
import { nodeSqlite } from '../../../../../src/tasks/store/sqlite/file/open-file.ts';
import { Child } from '../../../../support/child-process.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';

const ROUNDS = 3;
const ACKNOWLEDGED = 80;
const LONG_MS = 60_000;

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const writer = new URL(`../../../../support/tasks/sqlite-writer.${extension}`, import.meta.url).pathname;

t.test('tasks that were acknowledged are there when the process is killed', async t => {
  const path = storePath(t);
  const acknowledged: string[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const child = new Child({
      command: process.execPath,
      args: [writer, path, String(round)],
      env: process.env,
    });
    let ofThisRound = 0;
    await child.line(line => {
      if (!/^tsk_\w{26}$/.test(line)) return undefined;
      acknowledged.push(line);
      return ++ofThisRound >= ACKNOWLEDGED * round ? true : undefined;
    }, LONG_MS);
    child.signal('SIGKILL');
    await child.ended;

    const store = sameThreadSqliteStore({ path }, new ManualClock(0));
    await store.start();
    const missing: string[] = [];
    for (const id of acknowledged) {
      const found = await store.getWhole('acme', id);
      if (found?.body.payload?.length !== 502) missing.push(id);
    }
    t.strictSame(missing, [], `${acknowledged.length} tasks after ${round} kills`);
    await store.stop();
  }

  const db = new (nodeSqlite().DatabaseSync)(path);
  const one = (sql: string) => Object.values(db.prepare(sql).get() as object)[0];
  t.equal(one('PRAGMA integrity_check'), 'ok');
  const tasks = one('SELECT count(*) FROM task');
  t.ok(tasks >= acknowledged.length);
  for (const sql of [
    'SELECT sum(n0) FROM tenant',
    'SELECT sum(n0) FROM worker',
    'SELECT count(*) FROM body',
    'SELECT count(*) FROM event',
    'SELECT count(*) FROM task_key',
  ]) {
    t.equal(one(sql), tasks, `${sql}: what belongs together was written together`);
  }
  db.close();
});
