import t from 'tap';
import { noPostgres, postgresFor } from '../support/postgres-server.ts';
import { apiCases } from '../support/tasks/api-cases.ts';

apiCases(
  t,
  async t => {
    const server = await postgresFor(t);
    return {
      settings: { TASKS_STORE: 'postgres', TASKS_POSTGRES_URL: server.url() },
      files: () => server.files(),
    };
  },
  { skip: noPostgres },
);
