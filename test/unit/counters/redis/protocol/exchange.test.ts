import t, { type Test } from 'tap';
import { CommandTimeout, RedisReplyError } from '../../../../../src/clients/redis/errors.ts';
import { RedisConnection } from '../../../../../src/counters/redis/connections/connection.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';

// These tests fail if an upgrade of ioredis changes the internals that `exchange` relies on.

async function open(
  t: Test,
  timeoutMs = 20_000,
): Promise<{ server: RedisServer; connection: RedisConnection }> {
  const server = await startRedis();
  t.teardown(() => server.stop());
  const endpoint = {
    shown: server.address,
    target: { host: '127.0.0.1', port: server.port, family: 0 as const },
    username: '',
    password: '',
    database: 0,
    authFile: null,
    tls: null,
  };
  const connection = new RedisConnection({ endpoint, timeoutMs });
  await connection.open({ tryScripts: false, mustBeMaster: false });
  t.teardown(() => connection.close());
  return { server, connection };
}

function encoded(...commands: readonly string[][]): Buffer {
  const words = commands.map(command => [
    `*${command.length}\r\n`,
    ...command.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`),
  ]);
  return Buffer.from(words.flat().join(''));
}

t.test('replies come in the order of the commands, between those of other commands', async t => {
  const { connection } = await open(t);
  const bytes = encoded(
    ['SET', 'a', 'text'],
    ['GET', 'a'],
    ['INCRBY', 'a', '1'],
    ['INCRBY', 'b', '7'],
    ['GET', 'c'],
  );
  const [before, replies, between, more, after] = await Promise.all([
    connection.send('PING', []),
    connection.exchange(bytes, 5),
    connection.send('ECHO', ['between']),
    connection.exchange(encoded(['GET', 'b']), 1),
    connection.send('ECHO', ['after']),
  ]);
  t.same([before, between, after], ['PONG', 'between', 'after']);
  const [set, text, failure, count, missing] = replies;
  t.equal(String(set), 'OK');
  t.ok(Buffer.isBuffer(text), 'a text is a buffer');
  t.equal(String(text), 'text');
  t.ok(failure instanceof RedisReplyError, 'an error reply does not fail the others');
  t.match((failure as Error).message, /^ERR value is not an integer/);
  t.equal(count, 7);
  t.equal(missing, null);
  t.equal(String(more[0]), '7');
});

t.test('all exchanges in flight fail when the connection is lost', async t => {
  const { server, connection } = await open(t);
  server.freeze();
  const failed = [1, 2].map(() => t.rejects(connection.exchange(encoded(['PING'], ['PING']), 2)));
  await server.kill();
  await Promise.all(failed);
  await connection.closed;
  await t.rejects(connection.exchange(encoded(['PING']), 1), 'and so do later ones');
});

t.test('an exchange without replies fails after the timeout', async t => {
  const { server, connection } = await open(t, 200);
  server.freeze();
  t.teardown(() => server.thaw());
  const failure = await connection.exchange(encoded(['PING']), 1).catch((error: unknown) => error);
  t.ok(failure instanceof CommandTimeout);
});
