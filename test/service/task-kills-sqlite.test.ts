import { join } from 'node:path';
import t from 'tap';
import { threadedSqliteStore } from '../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { nodeSqlite } from '../../src/tasks/store/sqlite/file/open-file.ts';
import { KeepingLogger } from '../support/keeping-logger.ts';
import { campaign } from '../support/tasks/kills/campaign.ts';
import { killPlan } from '../support/tasks/kills/plan.ts';
import { taskSettings } from '../support/tasks/served-tasks.ts';
import { rowsOfTenant } from '../support/tasks/stored-things.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const plan = killPlan(4);
t.setTimeout(plan.killMs + plan.boundMs + 60_000);

t.test('processes on one SQLite file are killed again and again: nothing is lost, nothing hangs', async t => {
  const directory = tempDirectory(t);
  await campaign(t, {
    env: taskSettings(t, { directory }),
    openStore: () => threadedSqliteStore({ path: join(directory, 'tasks.db') }, new KeepingLogger()).store,
    // The account that shows the deletion.
    leftOf: async domain =>
      rowsOfTenant(join(directory, 'tasks.db'), domain).filter((name, at) => name !== 'doc' || at > 0),
    ...plan,
  });
  const db = new (nodeSqlite().DatabaseSync)(join(directory, 'tasks.db'));
  const groups = db.prepare('SELECT * FROM task_group').all();
  db.close();
  t.strictSame(groups, [], 'no group has a task that runs or waits');
});
