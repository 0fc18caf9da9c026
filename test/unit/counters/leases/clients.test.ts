import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { leaseClientsExam } from '../../../exam/counter-leases/clients.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { redisStore, type TestEndpoint } from '../../../support/stores.ts';

t.test('two threads with one table', async t => {
  leaseClientsExam(t, async () => {
    const { buffer } = CounterTable.create(1_024);
    return [0, 1].map(() => new EmbeddedCounterStore(CounterTable.attach(buffer)));
  });
});

const redis = await startRedis();
const cluster = await startCluster();
t.teardown(() => Promise.all([redis.stop(), cluster.stop()]));

const SERVERS: Readonly<Record<string, TestEndpoint>> = {
  'one Redis': { socketType: 'tcp', url: redis.address, auth: '' },
  'one cluster': { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' },
};

for (const [name, endpoint] of Object.entries(SERVERS)) {
  t.test(`two processes with ${name}`, async t => {
    leaseClientsExam(
      t,
      async t => {
        await redis.command('FLUSHALL');
        await cluster.flush();
        const stores = [0, 1].map(() => redisStore(endpoint, { poolSize: 3 }));
        t.teardown(() => Promise.all(stores.map(store => store.stop())));
        await Promise.all(stores.map(store => store.start()));
        return stores;
      },
      Date.now(),
    );
  });
}
