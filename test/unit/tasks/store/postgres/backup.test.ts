import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { violationsOf } from '../../../../exam/task-store/invariants.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { settlement } from '../../../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';

const ACME = 'acme';

t.test(
  'a dump that was made meanwhile can be restored, and its tasks start',
  { skip: noPostgres },
  async t => {
    const server = await postgresFor(t);
    const { store, make, worker, add } = await withWorker(t, postgresTaskStore(server), systemClock);
    const first = await add('"x"');
    const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
    await store.settle(ACME, [settlement(tasks[0].leaseId, 'succeeded')]);
    const second = await add('"y"');
    await server.copy('postgres', 'restored');

    const restored = postgresTaskStore(server, { database: 'restored' });
    t.teardown(() => restored.stop());
    await restored.start();
    t.match(await restored.get(ACME, first), { status: 'succeeded' });
    const answer = await restored.claim(ACME, make.claimRequest(worker.id, 5));
    t.match(answer.tasks, [{ task: { id: second } }]);
    t.equal((await store.get(ACME, second))?.status, 'scheduled', 'the original is as it was');
    t.strictSame(await violationsOf(restored), []);
  },
);
