import { join } from 'node:path';
import t from 'tap';
import { Signals } from '../../../../src/tasks/model/signals.ts';
import { deleteSome } from '../../../../src/tasks/scheduler/account-deletion.ts';
import { ACCOUNT_ID, type StoredDocument } from '../../../../src/tasks/store/documents.ts';
import { sameThreadSqliteStore } from '../../../../src/tasks/store/sqlite/open-store.ts';
import { ACME, type Backend, Scene } from '../../../exam/task-store/scene.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { taskQuery } from '../../../support/tasks/factories.ts';
import { redisBackend, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { storeDirectory } from '../../../support/tasks/sqlite-files.ts';
import { removeDirectory } from '../../../support/temp-directory.ts';

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());

const sqlite: Backend = {
  name: 'sqlite',
  async open(clock) {
    const directory = storeDirectory();
    const path = join(directory, 'tasks.db');
    const store = sameThreadSqliteStore({ path, synchronous: 'normal' }, clock);
    await store.start();
    const close = async () => {
      await store.stop();
      removeDirectory(directory);
    };
    return { store, close };
  },
};

for (const backend of [sqlite, redisBackend('redis', [server])]) {
  t.test(`${backend.name}: an account is deleted step by step, until only its domain is kept`, async t => {
    const scene = await Scene.open(t, backend);
    const { store, make, clock } = scene;
    const tasks = Array.from({ length: 450 }, (_, i) => scene.newTask({ key: `k${i}` }, { wake: true }));
    await scene.taskIn('succeeded', { keyTtlMs: 3_600_000, key: 'kept' });
    await scene.create(tasks);
    await store.apply(ACME, [make.user(), make.schedule(scene.mailer), make.audit()]);
    const account = (await store.getDocument(ACME, 'account', ACCOUNT_ID))!;
    const deletion = { requestedAt: scene.now, requestId: 'req_1', finishedAt: null };
    const body = { ...account.body, status: 'deleting', deletion } as const;
    const put = { ...make.account(ACME), expect: account.version, dueAt: scene.now, body };
    await store.apply(ACME, [put]);
    let looks = 0;
    const goOn = async () => {
      for (const { tenant, document } of await store.dueDocuments(100)) {
        if (document.kind !== 'account') continue;
        looks++;
        await deleteSome({ store, signals: new Signals() }, tenant, document as StoredDocument<'account'>);
      }
    };
    for (let look = 0; look < 30; look++) await goOn();
    t.ok(looks > 5, `${looks} looks`);
    const left = await store.getDocument(ACME, 'account', ACCOUNT_ID);
    t.match(left?.body, { status: 'deleted', deletion: { finishedAt: scene.now }, dataKey: null });
    t.same(await store.list(ACME, taskQuery()), []);
    t.equal(
      Object.values(await store.counts(ACME, null)).reduce((a, b) => a + b),
      0,
    );
    for (const kind of ['user', 'worker', 'schedule', 'audit'] as const) {
      t.equal(await store.countDocuments(ACME, kind), 0, kind);
    }
    t.same(await store.tenants(null, 10), [ACME]);
    clock.advance(30 * 86_400_000);
    await goOn();
    t.equal(await store.getDocument(ACME, 'account', ACCOUNT_ID), null);
    t.same(await store.tenants(null, 10), []);
  });
}
