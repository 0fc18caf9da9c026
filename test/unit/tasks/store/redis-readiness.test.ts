import t, { type Test } from 'tap';
import type { StoreFault } from '../../../../src/tasks/store/trouble.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { untilDone, untilFailed } from '../../../support/until.ts';

async function open(t: Test) {
  const server = await startRedis({ args: TASK_SERVER_ARGS });
  t.teardown(() => server.stop());
  const store = redisTaskStore([server]);
  t.teardown(() => store.stop());
  await store.start();
  await store.ping();
  return { server, store };
}

/** What is done to a Redis, what the ping says then, and what ends it. */
const FAULTS: readonly {
  readonly name: string;
  readonly begin: (server: RedisServer) => Promise<unknown>;
  readonly trouble: string;
  readonly message: RegExp;
  readonly end: (server: RedisServer) => Promise<unknown>;
}[] = [
  {
    name: 'has no memory left',
    begin: server => server.command('CONFIG', 'SET', 'maxmemory', '1'),
    trouble: 'redis_memory',
    message: /its memory is full: raise maxmemory/,
    end: server => server.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    name: 'has become a replica',
    begin: server => server.command('REPLICAOF', '127.0.0.1', '1'),
    trouble: 'redis_read_only',
    message: /it is a replica: the address must lead to the master/,
    end: server => server.command('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'has too few replicas',
    begin: server => server.command('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    trouble: 'redis_replicas',
    message: /it has too few replicas for min-replicas-to-write/,
    end: server => server.command('CONFIG', 'SET', 'min-replicas-to-write', '0'),
  },
  {
    name: 'is away',
    begin: server => server.kill(),
    trouble: 'not_connected',
    message: /not connected/,
    end: server => server.start(),
  },
];

for (const { name, begin, trouble, message, end } of FAULTS) {
  t.test(`a Redis that ${name} is not ready, and says so`, async t => {
    const { server, store } = await open(t);
    const ping = () => store.ping();
    await begin(server);
    await untilFailed(ping, failure => {
      return (failure as StoreFault).trouble === trouble && message.test(failure.message);
    });
    await end(server);
    // Pings that find no connection are those of a client that is connecting again.
    await untilDone(ping);
    const keys = (await server.command('KEYS', '*')) as readonly string[];
    t.same(
      keys.filter(key => key !== 'sluice:used'),
      [],
      'a ping leaves nothing behind but the time of the last use',
    );
  });
}

t.test('a cluster is ready while a node of it takes what is written', async t => {
  const cluster = await startCluster({ args: TASK_SERVER_ARGS });
  t.teardown(() => cluster.stop());
  const store = redisTaskStore(cluster.nodes);
  t.teardown(() => store.stop());
  await store.start();
  const [first, ...others] = cluster.nodes;
  for (const node of others) await node.command('CONFIG', 'SET', 'maxmemory', '1');
  await store.ping();
  await first.command('CONFIG', 'SET', 'maxmemory', '1');
  await t.rejects(store.ping(), { name: 'Fault', trouble: 'redis_memory' });
  await first.command('CONFIG', 'SET', 'maxmemory', '0');
  await store.ping();
});
