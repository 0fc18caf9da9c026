import { join } from 'node:path';
import t from 'tap';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { sameThreadSqliteStore } from '../../../support/tasks/same-thread-store.ts';
import { storeDirectory } from '../../../support/tasks/sqlite-files.ts';
import { removeDirectory } from '../../../support/temp-directory.ts';

/** The engine in the thread of the test, which owns its time. The thread that has it otherwise: sqlite-thread.test.ts. */
const sqlite: Backend = {
  name: 'sqlite',
  async open(clock) {
    const directory = storeDirectory();
    const file = { path: join(directory, 'tasks.db'), synchronous: 'normal' } as const;
    let store = sameThreadSqliteStore(file, clock);
    await store.start();
    return {
      store,
      async close() {
        await store.stop();
        removeDirectory(directory);
      },
      async reopen() {
        await store.stop();
        store = sameThreadSqliteStore(file, clock);
        await store.start();
        return store;
      },
    };
  },
};

taskStoreExam(t, sqlite);
randomExam(t, sqlite, { sequences: 20 });
