import t from 'tap';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { randomExam } from '../../../../exam/task-store/random.ts';
import type { Backend } from '../../../../exam/task-store/scene.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';

/** Stores with connections and memories of their own, as those of as many processes; each call is for one of them. */
function takingTurns(stores: readonly TaskStore[], random: SeededRandom): TaskStore {
  return new Proxy(stores[0], {
    get(_target, name) {
      const store = random.pick(stores);
      const found = store[name as keyof TaskStore];
      return typeof found === 'function' ? found.bind(store) : found;
    },
  });
}

const twoProcesses: Backend = {
  name: 'two processes on one file',
  async open(clock) {
    const path = storePath(t);
    const stores = [1, 2, 3].map(() => sameThreadSqliteStore({ path, synchronous: 'normal' }, clock));
    for (const store of stores) await store.start();
    return {
      store: takingTurns(stores, new SeededRandom(clock.nowMs() % 1_000)),
      async close() {
        for (const store of stores) await store.stop();
      },
    };
  },
};

randomExam(t, twoProcesses, { sequences: 8, seed: 501 });
