import { backup, DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { threadedSqliteStore } from '../../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { violationsOf } from '../../../../exam/task-store/invariants.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { Factory } from '../../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';
import { until } from '../../../../support/until.ts';

/** Makes a copy while tasks are written, and opens it. */
async function showBackup(t: Test, copyTo: (source: DatabaseSync, copy: string) => unknown): Promise<void> {
  const path = storePath(t);
  const { store } = threadedSqliteStore({ path }, new KeepingLogger());
  t.teardown(() => store.stop());
  await store.start();
  const make = new Factory(systemClock);
  const worker = make.worker();
  await store.apply('acme', [make.account('acme'), worker]);
  const answered: string[] = [];
  let isOver = false;
  const writers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const item = make.newTask(worker, {}, { body: { payload: '"x"', headers: {} } });
      await store.create('acme', make.createRequest([item]));
      answered.push(item.task.id);
    }
  });
  await until(() => answered.length > 100);

  const before = answered.slice();
  const copy = storePath(t);
  const source = new DatabaseSync(path);
  await copyTo(source, copy);
  source.close();
  isOver = true;
  await Promise.all(writers);

  const restored = sameThreadSqliteStore({ path: copy }, systemClock);
  t.teardown(() => restored.stop());
  await restored.start();
  for (const id of before) t.ok(await restored.get('acme', id), id);
  t.strictSame(await violationsOf(restored), []);
  const { scheduled } = await restored.counts('acme', null);
  t.ok(scheduled <= answered.length, 'and nothing that was not written');
}

t.test('an online backup that is taken under load holds what was answered before, and is whole', t =>
  showBackup(t, backup),
);

t.test('so does VACUUM INTO', t => showBackup(t, (source, copy) => source.exec(`VACUUM INTO '${copy}'`)));
