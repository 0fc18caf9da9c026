import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { MINUTE_MS } from '../../../../src/base/clock.ts';
import { USAGE_SPANS } from '../../../../src/tasks/model/usage.ts';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { Factory } from '../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../support/tasks/sqlite-files.ts';
import { openedSqlite } from '../../../support/tasks/stored-things.ts';

/** The engine in the thread of the test, which owns its time. The thread that has it otherwise: sqlite/thread.test.ts. */
const sqlite: Backend = { name: 'sqlite', open: clock => openedSqlite(t).open(clock) };
taskStoreExam(t, sqlite);
randomExam(t, sqlite, { sequences: 12 });

t.test('old usage is removed from the file', async t => {
  const clock = new ManualClock(Date.UTC(2026, 2, 1, 10));
  const path = storePath(t);
  const store = sameThreadSqliteStore({ path, synchronous: 'normal' }, clock);
  await store.start();
  t.teardown(() => store.stop());
  const add = () => store.addUsage('acme', [{ at: clock.nowMs(), workerId: null, figures: [0, 1] }]);
  const rows = () => {
    const db = new DatabaseSync(path, { readOnly: true });
    const found = db.prepare('SELECT span, at FROM usage').all().length;
    db.close();
    return found;
  };
  const purge = async () => {
    while ((await store.purge('acme', { succeededMs: 1, otherMs: 1 }, 2)).more);
  };
  await store.apply('acme', [new Factory(clock).account('acme')]);
  for (let i = 0; i < 5; i++) {
    await add();
    clock.advance(MINUTE_MS);
  }
  await purge();
  t.equal(rows(), 6, 'five minutes and an hour');
  clock.advance(USAGE_SPANS.minute.keepMs);
  await purge();
  t.equal(rows(), 1);
  clock.advance(USAGE_SPANS.hour.keepMs);
  await purge();
  t.equal(rows(), 0);
});
