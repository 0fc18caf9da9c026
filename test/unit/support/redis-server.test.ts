import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { redisFor, startRedis } from '../../support/redis-server.ts';

t.test('answers on its port, and what is written can be looked at', async t => {
  const redis = await redisFor(t);
  t.equal(await redis.command('SET', 'key', 7), 'OK');
  t.equal(await redis.command('GET', 'key'), '7');
});

t.test('listens on a unix socket when asked to', async t => {
  const redis = await redisFor(t, { unixSocket: true });
  const socket = connect(redis.socketPath as string);
  socket.write('PING\r\n');
  const [reply] = await once(socket, 'data');
  t.equal(String(reply), '+PONG\r\n');
  socket.destroy();
});

t.test('comes back empty at the same port after a crash', async t => {
  const redis = await redisFor(t);
  const port = redis.port;
  await redis.command('SET', 'key', 'value');
  await redis.kill();
  await t.rejects(redis.command('PING'), { message: /closed|ECONNREFUSED/ });
  await redis.restart();
  t.equal(redis.port, port);
  t.equal(await redis.command('GET', 'key'), null);
});

t.test('passes arguments on, and a frozen server still stops', async t => {
  const redis = await startRedis({ args: ['--requirepass', 'secret', '--maxmemory', '64mb'] });
  t.same(await redis.command('CONFIG', 'GET', 'maxmemory'), ['maxmemory', String(64 * 1024 * 1024)]);
  redis.freeze();
  await redis.stop();
  t.equal(redis.pid, -1);
});

t.test('tells what the server wrote when it does not start', async t => {
  await t.rejects(startRedis({ args: ['--no-such-option', 'x'] }), {
    message: /redis-server ended.*no-such-option/s,
  });
});

t.test('fails when the wanted port is taken', async t => {
  const redis = await redisFor(t);
  await t.rejects(startRedis({ port: redis.port }), { message: /address already in use/i });
});
