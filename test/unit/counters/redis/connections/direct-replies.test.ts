import { once } from 'node:events';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { readDirectly } from '../../../../../src/counters/redis/connections/connection.ts';
import { startRedis } from '../../../../support/redis-server.ts';

const server = await startRedis();
t.teardown(() => server.stop());

/** Returns how many bytes the stream keeps after a reply has been given to it. */
async function bytesKept(redis: Redis): Promise<number> {
  const { stream } = redis;
  const { push } = stream;
  let kept = -1;
  stream.push = chunk => {
    const takesMore = push.call(stream, chunk);
    kept = stream.readableLength;
    return takesMore;
  };
  await redis.ping();
  stream.push = push;
  return kept;
}

function client(t: Test): Redis {
  const redis = new Redis({ host: '127.0.0.1', port: server.port, retryStrategy: () => 1 });
  t.teardown(() => redis.disconnect());
  return redis;
}

t.test('replies are read as they arrive, on the first connection and on later ones', async t => {
  const redis = client(t);
  readDirectly(redis);
  await redis.ping();
  t.equal(await bytesKept(redis), 0);
  const again = once(redis, 'ready');
  redis.stream.destroy();
  await again;
  t.equal(await bytesKept(redis), 0);
});

t.test('without it, the stream keeps them until the next tick', async t => {
  const redis = client(t);
  await redis.ping();
  t.ok((await bytesKept(redis)) > 0, 'if this fails, ioredis or Node.js has changed: remove readDirectly');
});
