import t from 'tap';
import { taskStoreExam } from '../../../../exam/task-store/exam.ts';
import { randomExam } from '../../../../exam/task-store/random.ts';
import { noPgBouncer, pgBouncerFor } from '../../../../support/pgbouncer.ts';
import { postgresFor } from '../../../../support/postgres-server.ts';
import { postgresBackend } from '../../../../support/tasks/postgres-backend.ts';

// PgBouncer gives each transaction another connection, so nothing may be kept in a session.

if (noPgBouncer !== false) {
  t.plan(0, noPgBouncer);
} else {
  const server = await postgresFor(t);
  const pooler = await pgBouncerFor(t, server);
  const backend = postgresBackend('PgBouncer', server, pooler.port);
  taskStoreExam(t, backend, 8);
  randomExam(t, backend, { sequences: 3, seed: 71 });
}
