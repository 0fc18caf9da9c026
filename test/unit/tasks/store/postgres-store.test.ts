import t from 'tap';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import { noPostgres, postgresFor } from '../../../support/postgres-server.ts';
import { postgresBackend } from '../../../support/tasks/postgres-backend.ts';

if (noPostgres !== false) {
  t.plan(0, noPostgres);
} else {
  const server = await postgresFor(t);
  const backend = postgresBackend('postgres', server);
  taskStoreExam(t, backend, 8);
  randomExam(t, backend, { sequences: 10, seed: 21 });
}
