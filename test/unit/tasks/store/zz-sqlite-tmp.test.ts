import { mkdtempSync } from 'node:fs';
import t from 'tap';
import { sameThreadSqliteStore } from '../../../../src/tasks/store/sqlite/open-store.ts';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';

const sqlite: Backend = {
  name: 'sqlite',
  async open(clock) {
    const path = `${mkdtempSync('/tmp/sq-')}/t.db`;
    const store = sameThreadSqliteStore({ path, synchronous: 'normal' }, clock);
    await store.start();
    return { store, close: () => store.stop(), reopen: async () => { const s = sameThreadSqliteStore({ path }, clock); await s.start(); return s; } };
  },
};
taskStoreExam(t, sqlite);
