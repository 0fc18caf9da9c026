import t from 'tap';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { ModelStore } from '../../../support/tasks/model-store.ts';

/** The model, with which random operations of the stores are compared, does what every store must do. */
taskStoreExam(t, {
  name: 'model',
  async open(clock) {
    const store = new ModelStore(clock);
    await store.start();
    return { store, close: () => store.stop(), reopen: async () => store };
  },
});
