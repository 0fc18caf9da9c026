import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import t from 'tap';
import { systemClock } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { answeringServer, reply } from '../../../support/answering-server.ts';
import { aftersOf, batchOf, count, countHoldingBack } from '../../../support/counting.ts';
import { Decisions, request } from '../../../support/decisions.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startRedis } from '../../../support/redis-server.ts';
import {
  PLAIN_USER,
  type RedisStoreOptions,
  redisStore,
  type Teardown,
  WITHOUT_SCRIPTS,
} from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

const ONE = [{ key: 'a', hits: 1 }];

interface OpenOptions extends RedisStoreOptions {
  readonly auth?: string;
}

async function openStore(t: Teardown, url: string, { auth = '', ...options }: OpenOptions = {}) {
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url, auth }, { logger, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return { store, logger };
}

for (const [kind, auth] of [
  ['scripts', ''],
  ['single commands', PLAIN_USER],
]) {
  t.test(`counting by ${kind}`, async t => {
    const redis = await startRedis({ args: WITHOUT_SCRIPTS });
    t.teardown(() => redis.stop());

    t.test('a key that cannot be counted fails alone, with the reason of Redis', async t => {
      const { store, logger } = await openStore(t, redis.address, { auth });
      const rules = 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 9 } }]';
      for (const holdBack of [false, true]) {
        await redis.command('FLUSHALL');
        await redis.command('LPUSH', 'd_k_list_1699999200', 'x');
        const decisions = new Decisions({ store, rules, options: { holdBack } });
        const [failed, decided] = await Promise.allSettled([
          decisions.ask(request('d', 'k=list')),
          decisions.ask(request('d', 'k=v')),
        ]);
        t.match(failed, {
          reason: {
            code: 'store_failed',
            message: /could not count the key `d_k_list_1699999200`: WRONGTYPE Operation against a key/,
          },
        });
        t.match(decided, { value: { statuses: [{ limitRemaining: 8 }] } });
        await t.rejects(decisions.ask(request('d', 'k=list')), { message: /WRONGTYPE/ });
      }
      t.match(
        logger.at('error'),
        [{ message: /^Redis cannot count a key/, fields: { reason: /^WRONGTYPE/, times: 1 } }],
        'one line for a reason that comes again',
      );
    });

    t.test('a text that is no number fails alone too', async t => {
      const { store } = await openStore(t, redis.address, { auth });
      await redis.command('SET', 'text', 'many');
      const batch = batchOf([
        {
          ops: [
            { key: 'text', hits: 1 },
            { key: 'number', hits: 1 },
          ],
        },
      ]);
      await store.incrementHoldingBack(batch);
      t.same(aftersOf(batch), [Number.NaN, 1]);
      t.match(batch.failureText, /not an integer/);
      batch.reset(0);
      t.equal(batch.failureText, '');
    });

    t.test('when Redis is full the whole batch is refused with its reason, until there is room', async t => {
      const stats = new StatsRegistry();
      const { store, logger } = await openStore(t, redis.address, { auth, stats });
      await redis.command('CONFIG', 'SET', 'maxmemory', '1');
      const refusal = { code: 'store_failed', message: /^Redis at \S+: OOM command not allowed/ };
      await t.rejects(count(store, ONE), refusal);
      await t.rejects(countHoldingBack(store, [{ ops: ONE }]), refusal);
      t.match(logger.lines.at(-1), { level: 'error', fields: { reason: /: OOM / } });
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
      await redis.command('DEL', 'a');
      t.same(await count(store, ONE), [1]);
      t.equal(new Map(stats.counters()).get('opened'), 1, 'a new connection would not help');
    });

    t.test('a count whose time to live is refused is no count: it would be kept for ever', async t => {
      const { store } = await openStore(t, redis.address, { auth });
      const user = auth === '' ? 'default' : 'plain';
      await redis.command('DEL', 'a');
      await redis.command('ACL', 'SETUSER', user, '-expire');
      t.teardown(() => redis.command('ACL', 'SETUSER', user, '+expire'));
      await t.rejects(count(store, ONE), { code: 'store_failed', message: /NOPERM|can't run this command/ });
    });

    t.test('a read-only Redis is left, because a failover may have happened behind its address', async t => {
      const next = await startRedis({ args: WITHOUT_SCRIPTS });
      t.teardown(() => next.stop());
      const failover = await switchBetween(t, redis.port, next.port);
      const { store, logger } = await openStore(t, failover.address, { auth });
      await redis.command('DEL', 'a');
      t.same(await count(store, ONE), [1]);
      await redis.command('REPLICAOF', '127.0.0.1', '1');
      t.teardown(() => redis.command('REPLICAOF', 'NO', 'ONE'));
      failover.switch();
      await t.rejects(count(store, ONE), { code: 'store_failed', message: /READONLY You can't write/ });
      t.match(logger.at('error'), [{ message: 'Redis is unavailable', fields: { reason: /READONLY/ } }]);
      t.same(await untilCounted(store, ONE), [1], 'the next connection finds the new master');
      t.match(logger.messages('info').at(-1), 'Connected to Redis');
    });
  });
}

t.test('a read-only Redis is left, also when a refund of the batch had nothing to change there', async t => {
  const [redis, next] = [await startRedis(), await startRedis()];
  t.teardown(() => redis.stop());
  t.teardown(() => next.stop());
  const failover = await switchBetween(t, redis.port, next.port);
  const { store, logger } = await openStore(t, failover.address);
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  failover.switch();
  const batch = batchOf([{ ops: [{ key: 'none', hits: 1, isRefund: true }, ...ONE] }]);
  for (const count of ['increment', 'incrementHoldingBack'] as const) {
    await store[count](batch).catch(() => {});
  }
  t.ok(logger.messages('info').includes('Closing a Redis connection; reconnecting'));
  t.same(await untilCounted(store, ONE), [1], 'the next connection finds the new master');
});

t.test('a replica that serves nothing without its master is left as well', async t => {
  const [redis, next] = [await startRedis(), await startRedis()];
  t.teardown(() => redis.stop());
  t.teardown(() => next.stop());
  const failover = await switchBetween(t, redis.port, next.port);
  const { store } = await openStore(t, failover.address);
  await redis.command('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  failover.switch();
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /MASTERDOWN/ });
  t.same(await untilCounted(store, ONE), [1]);
});

t.test('when scripts are forbidden, single commands count instead, as the log says once', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const { store, logger } = await openStore(t, redis.address);
  t.same(await count(store, ONE), [1]);
  await redis.command('ACL', 'SETUSER', 'default', '-@scripting');
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /NOPERM/ });
  t.same(await untilCounted(store, ONE), [2]);
  t.same((await countHoldingBack(store, [{ ops: ONE }])).afters, [3]);
  const told = logger.lines.filter(line => /does not run scripts/.test(line.message));
  t.match(told, [{ level: 'warning', message: /not atomic/ }]);
});

t.test('a proxy that closes the connection on a script is asked without one', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const asked: string[] = [];
  const url = await answeringServer(t, command => {
    asked.push(command);
    if (command === 'PING') return '+PONG\r\n';
    if (command === 'INCRBY') return ':7\r\n';
    if (command === 'EXPIRE') return ':1\r\n';
    return 'close';
  });
  const { store } = await openStore(t, url);
  t.same(await count(store, ONE), [7]);
  t.same(asked.slice(0, 7), ['PING', 'EVALSHA', 'PING', 'EVALSHA', 'PING', 'INCRBY', 'EXPIRE']);
});

t.test('a Redis that goes away at the first script, once, is asked by scripts when it is back', async t => {
  const asked: string[] = [];
  const url = await answeringServer(t, command => {
    asked.push(command);
    if (command === 'PING') return '+PONG\r\n';
    return asked.length === 2 ? 'close' : reply(asked.length === 4 ? [null] : [7, null]);
  });
  const { store } = await openStore(t, url);
  t.same(await count(store, ONE), [7]);
  t.same(asked.slice(0, 5), ['PING', 'EVALSHA', 'PING', 'EVALSHA', 'EVALSHA']);
});

t.test('a proxy that refuses scripts in words of its own is asked without them', async t => {
  for (const refusal of [
    '-ERR unknown command `EVALSHA`, with args beginning with: `x`\r\n',
    "-ERR unsupported command 'evalsha'\r\n",
    "-wrong number of arguments for 'evalsha' command\r\n",
  ]) {
    const url = await answeringServer(t, command =>
      command === 'PING' ? '+PONG\r\n' : command === 'EVALSHA' ? refusal : ':7\r\n',
    );
    const { store } = await openStore(t, url);
    t.same(await count(store, ONE), [7]);
  }
});

t.test('an answer that is none to the command fails the batch', async t => {
  const url = await answeringServer(t, command => (command === 'PING' ? '+PONG\r\n' : '*1\r\n:7\r\n'));
  const { store } = await openStore(t, url);
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /unexpected reply to a script/ });
});

t.test('batches that fail while Redis is away are one line in the log, with the cause', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const { store, logger } = await openStore(t, redis.address, { clock: systemClock });
  await redis.kill();
  await until(() => logger.messages('error').length > 0);
  const failures = await Promise.allSettled(Array.from({ length: 50 }, () => count(store, ONE)));
  for (const failure of failures) {
    t.match(failure, { reason: { code: 'store_failed', message: /is not connected: / } });
  }
  t.equal(logger.messages('error').length, 1);
});

/** An address that leads to the first port, and after `switch`, for new connections, to the second. */
async function switchBetween(t: Teardown, first: number, second: number) {
  let port = first;
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    const onward = createConnection(port, '127.0.0.1');
    for (const each of [socket, onward]) {
      sockets.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        sockets.delete(each);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    switch: () => {
      port = second;
    },
  };
}
