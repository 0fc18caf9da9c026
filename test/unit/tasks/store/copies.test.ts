import t from 'tap';
import { copyExam } from '../../../exam/task-store/copied-things.ts';
import { randomCopyExam } from '../../../exam/task-store/copying.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { ModelStore } from '../../../support/tasks/model-store.ts';
import { redisBackend, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { openedSqlite } from '../../../support/tasks/stored-things.ts';

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());

const model: Backend = {
  name: 'model',
  async open(clock) {
    const store = new ModelStore(clock);
    return { store, close: () => store.stop() };
  },
};
const sqlite: Backend = { name: 'sqlite', open: clock => openedSqlite(t).open(clock) };
const redis = redisBackend('redis', [server]);

// Every kind of store from and to every kind, so that none has to know another.
for (const from of [model, sqlite, redis]) {
  for (const to of [model, sqlite, redis]) {
    copyExam(t, from, to);
    randomCopyExam(t, from, to, { sequences: 2 });
  }
}
