import t from 'tap';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { MemoryStore } from '../../../support/tasks/memory-store.ts';

const memory: Backend = {
  name: 'memory',
  async open(clock) {
    const store = new MemoryStore(clock);
    await store.start();
    return { store, close: () => store.stop(), reopen: async () => store };
  },
};

taskStoreExam(t, memory);
// The model against itself: that sequences can be repeated, and that the invariants hold for it.
randomExam(t, memory, { sequences: 15 });
