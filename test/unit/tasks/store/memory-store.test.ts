import t from 'tap';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { MemoryStore } from '../../../support/tasks/memory-store.ts';

taskStoreExam(t, {
  name: 'memory',
  async open(clock) {
    const store = new MemoryStore(clock);
    await store.start();
    return { store, close: () => store.stop(), reopen: async () => store };
  },
});
