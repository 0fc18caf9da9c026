import t from 'tap';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresBackend } from '../../../../support/tasks/postgres-backend.ts';
import { HARNESS_START_MS } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { TwoTenants } from '../../../../support/tasks/two-tenants.ts';
import { wrongTypes } from '../../../../support/tasks/wrong-types.ts';

// What callers send reaches the functions of PostgreSQL, which refuse some characters and numbers that JSON may have.

t.test('over PostgreSQL', { skip: noPostgres, timeout: 600_000 }, async t => {
  const backend = postgresBackend('postgres', await postgresFor(t));
  wrongTypes(t, 'postgres', async t => {
    const clock = new ManualClock(HARNESS_START_MS);
    const { store, close } = await backend.open(clock);
    t.teardown(close);
    return TwoTenants.open(new TaskHarness({}, { clock, store }));
  });
});
