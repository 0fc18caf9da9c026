import t, { type Test } from 'tap';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresBackend } from '../../../../support/tasks/postgres-backend.ts';
import { HARNESS_START_MS } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

/** PostgreSQL rejects U+0000 in texts. No caller may make a store fail, so each place is checked before. */
const NUL = '%00';

async function open(t: Test): Promise<TaskHarness> {
  const clock = new ManualClock(HARNESS_START_MS);
  const { store, close } = await postgresBackend('postgres', await postgresFor(t)).open(clock);
  t.teardown(close);
  const rest = new TaskHarness({}, { clock, store });
  rest.token = (await rest.signUp()).token;
  return rest;
}

t.test(
  'U+0000 in a parameter or a segment of a path is no failure of the store',
  { skip: noPostgres },
  async t => {
    const rest = await open(t);
    const worker = await rest.pullWorker();
    await rest.task({ worker: worker.name });
    for (const { method, path, query = {} } of rest.routes) {
      const plain = path.replace(/:\w+/, worker.name).replaceAll(/:\w+/g, worker.id);
      const segments = path.match(/:\w+/g) ?? [];
      const targets = [
        ...Object.keys(query).map(name => `${plain}?${name}=${NUL}&worker=${worker.name}`),
        ...Object.keys(query).map(name => `${plain}?${name}=a${NUL}b`),
        ...segments.map(segment =>
          path.replace(segment, NUL).replace(/:\w+/, worker.name).replaceAll(/:\w+/g, worker.id),
        ),
        ...segments.map(segment => path.replace(segment, NUL).replaceAll(/:\w+/g, worker.name)),
        ...segments.map(segment => path.replace(segment, `a${NUL}b`).replaceAll(/:\w+/g, worker.id)),
      ];
      for (const target of targets) {
        const { status, body } = await rest.ask(method, `/api${target}`);
        if (status >= 500) t.fail(`${method} ${target}: ${body}`);
      }
    }
    t.same(rest.logger.messages('error'), []);
  },
);
