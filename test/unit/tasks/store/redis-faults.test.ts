import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { redisTaskStore as storeOfSettings } from '../../../../src/app/tasks/redis-task-store.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { Fault } from '../../../../src/base/fault.ts';
import { AuthFile } from '../../../../src/base/files/auth-file.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { Authority } from '../../../support/certificates.ts';
import { freePort } from '../../../support/free-port.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { settlement } from '../../../support/tasks/factories.ts';
import {
  type RedisTaskStoreSetting,
  redisTaskStore,
  TASK_SERVER_ARGS,
} from '../../../support/tasks/redis-backend.ts';
import { withWorker } from '../../../support/tasks/store-with-worker.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { testsOf } from '../../../support/tests-of.ts';
import { until, untilDone, untilFailed } from '../../../support/until.ts';

const test = testsOf(openServer);

const ACME = 'acme';
const NOW = Date.UTC(2026, 2, 1, 10);

async function openServer(t: Test, args: readonly string[] = []): Promise<RedisServer> {
  const server = await startRedis({ args: [...TASK_SERVER_ARGS, ...args] });
  t.teardown(() => server.stop());
  return server;
}

async function open(t: Test, server: RedisServer, options: RedisTaskStoreSetting = {}) {
  const time = new ManualClock(NOW);
  return { time, ...(await withWorker(t, redisTaskStore([server], { time, ...options }), time)) };
}

/** What the operation failed with. */
async function fault(operation: Promise<unknown>): Promise<Fault> {
  try {
    await operation;
  } catch (failure) {
    if (failure instanceof Fault) return failure;
    throw failure;
  }
  throw new Error('the operation succeeded');
}

function failsWith(operation: () => Promise<unknown>, message: RegExp): Promise<void> {
  return untilFailed(operation, failure => message.test(failure.message));
}

async function survives(t: Test, meanwhile: (server: RedisServer) => Promise<unknown>): Promise<void> {
  // With `everysec` a Redis whose disk is slow answers before it has written.
  const server = await openServer(t, ['--appendfsync', 'always']);
  const { store, make, worker, add } = await open(t, server, { durability: 'always' });
  const answered: string[] = [];
  const failures: Fault[] = [];
  const write = async () => {
    for (;;) {
      try {
        answered.push(await add('"x"'));
      } catch (failure) {
        failures.push(failure as Fault);
        return;
      }
    }
  };
  const writers = Array.from({ length: 16 }, write);
  await until(() => answered.length > 250);
  await meanwhile(server);
  await until(() => answered.length > 500);
  await server.kill();
  await Promise.all(writers);
  for (const { code, message } of failures) {
    t.equal(code, 'store_failed');
    t.match(message, /Redis at 127\.0\.0\.1:\d+, create: /);
  }

  await server.start();
  await untilDone(() => store.ping());
  const kept = await store.bodies(ACME, answered.slice(-200));
  t.equal(kept.size, 200, 'the last ones are there');
  const { scheduled } = await store.counts(ACME, null);
  t.ok(scheduled >= answered.length, `${scheduled} of ${answered.length}`);
  const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  t.equal(tasks.length, 1, 'and start');
}

t.test('tasks whose creation was answered survive the death of Redis', t => survives(t, async () => {}));

t.test('the same while it writes its file anew', t => survives(t, server => server.command('BGREWRITEAOF')));

test('while Redis is away operations fail at once, and work when it is back', async (server, t) => {
  const { store, add } = await open(t, server);
  await server.kill();
  await failsWith(() => store.counts(ACME, null), /not connected/);
  const failure = await fault(add());
  t.equal(failure.code, 'store_failed');
  await server.start();
  await untilDone(() => store.ping());
  t.match(await add(), /^tsk_/);
});

test('the log says why Redis is away', async (server, t) => {
  const logger = new KeepingLogger();
  await open(t, server, { logger });
  await server.kill();
  const lost = () =>
    logger.lines.find(({ message }) => message === 'Connection to Redis for tasks lost; reconnecting');
  await until(() => lost() !== undefined);
  t.match(lost()?.fields, { address: server.address, reason: 'it was closed by the server' });
});

test('a Redis that is frozen for a while is waited for', async (server, t) => {
  const { store, add } = await open(t, server, { timeoutMs: 20_000 });
  server.freeze();
  const asked = [add(), add(), store.counts(ACME, null)];
  setTimeout(() => server.thaw(), 1_000);
  t.equal((await Promise.all(asked)).length, 3);
});

test('for longer than the time-out: operations fail, and nothing is sent twice', async (server, t) => {
  const { store, add } = await open(t, server, { timeoutMs: 300 });
  server.freeze();
  const failure = await fault(add());
  t.match(failure, { code: 'store_failed', message: /create: no answer within 300 ms/ });
  server.thaw();
  await untilDone(() => store.ping());
  await until(async () => (await store.counts(ACME, null)).scheduled > 0);
  t.equal((await store.counts(ACME, null)).scheduled, 1, 'whether it happened was not known: it did');
});

test('what happened although nobody heard of it is found by those who push', async (server, t) => {
  const { store, make, worker } = await open(t, server, { timeoutMs: 300, sweepMs: null });
  server.freeze();
  const task = make.newTask(worker, {}, { wake: true });
  const failure = await fault(store.create(ACME, make.createRequest([task])));
  t.match(failure, { code: 'store_failed' });
  server.thaw();
  await until(async () => (await store.wakeups(NOW, 10).catch(() => [])).length > 0);
  t.match(await store.wakeups(NOW, 10), [{ tenant: ACME, workerId: worker.id }]);
});

test('many operations on a frozen Redis are bounded in number', async (server, t) => {
  const { store } = await open(t, server, { timeoutMs: 300, maxInFlight: 50 });
  server.freeze();
  const asked = await Promise.allSettled(Array.from({ length: 80 }, () => store.counts(ACME, null)));
  const codes = asked.map(answer => (answer.status === 'rejected' ? (answer.reason as Fault).code : 'none'));
  t.equal(codes.filter(code => code === 'overloaded').length, 63);
  t.equal(codes.filter(code => code === 'store_failed').length, 17);
  server.thaw();
});

test('what waits behind the others of its tenant fails in time as well, and nothing of it is sent later', async (server, t) => {
  const { store, add } = await open(t, server, { timeoutMs: 1_500 });
  server.freeze();
  const asked = await Promise.allSettled(Array.from({ length: 1_000 }, () => add()));
  t.ok(asked.every(({ status }) => status === 'rejected'));
  server.thaw();
  await untilDone(() => add());
  const { scheduled } = await store.counts(ACME, null);
  t.ok(scheduled < 900, `${scheduled} of 1000 had been sent`);
  await Promise.all(Array.from({ length: 400 }, () => add()));
  t.equal((await store.counts(ACME, null)).scheduled, scheduled + 400, 'and its share is free again');
});

test('with its memory full Redis takes no new tasks; those there come to their end', async (server, t) => {
  const { store, make, worker, add, time } = await open(t, server);
  const first = await add();
  const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  await server.command('CONFIG', 'SET', 'maxmemory', '1mb');
  const failure = await fault(add('"x"'));
  t.match(failure, { code: 'store_failed', message: /OOM .*raise maxmemory/ });
  t.equal((await store.get(ACME, first))?.status, 'running', 'reading works');
  const [settled] = await store.settle(ACME, [settlement(tasks[0].leaseId, 'succeeded')]);
  t.equal(settled.kind, 'settled');
  time.advance(1_000);
  t.equal((await store.purge(ACME, { succeededMs: 0, otherMs: 0 }, 10)).tasks, 1, 'and room can be made');
  await server.command('CONFIG', 'SET', 'maxmemory', '0');
  t.match(await add('"x"'), /^tsk_/);
});

test('a replica that a store is led to says what is wrong', async (master, t) => {
  const server = await openServer(t);
  const { store, add } = await open(t, server);
  await add();
  await server.command('REPLICAOF', '127.0.0.1', master.port);
  await failsWith(add, /READONLY .*the address must lead to the master/);
  await failsWith(() => store.ping(), /it is a replica: the address must lead to the master/);
  await server.command('REPLICAOF', 'NO', 'ONE');
  await untilDone(() => store.ping());
});

t.test('a failed handshake is reported with the setting that helps', async t => {
  const pair = new Authority('stranger').issue({ subject: 'redis', names: ['127.0.0.1'] });
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const port = await freePort();
  const pem = ['--tls-cert-file', file('r.crt', pair.certificate), '--tls-key-file', file('r.key', pair.key)];
  const files = [...pem, '--tls-ca-cert-file', file('ca.crt', pair.certificate)];
  await openServer(t, ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files]);
  const env = {
    TASKS_ENABLED: 'true',
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `127.0.0.1:${port}`,
    TASKS_REDIS_TLS: 'true',
    SECRETS_MASTER_KEY: '0'.repeat(64),
  };
  const clock = new ManualClock(NOW);
  const store = storeOfSettings({
    settings: loadSettings(env),
    clock,
    random: () => 0,
    logger: new KeepingLogger(),
  });
  const started = store.start();
  started.catch(() => {});
  t.teardown(() => store.stop());
  // The start waits for a Redis that may come up; the reason is what it heard last.
  await failsWith(() => store.ping(), /TASKS_REDIS_TLS_CACERT/);
  clock.advance(30_000);
  await t.rejects(started, /unable to verify the first certificate .*set TASKS_REDIS_TLS_CACERT to the file/);
});

/** A file in a directory of the test; the path, and how to replace its text. */
function authFile(t: Test, text: string) {
  const path = join(tempDirectory(t), 'auth');
  const write = (replaced: string) => writeFileSync(path, replaced);
  write(text);
  return { path, write };
}

t.test('a password in a file is read again when the connection is lost or refused', async t => {
  const server = await openServer(t, ['--user', 'app', 'on', '>old', '~*', '&*', '+@all']);
  const { path, write } = authFile(t, 'app:old\n');
  const store = storeOfSettings({
    settings: loadSettings({
      TASKS_ENABLED: 'true',
      TASKS_STORE: 'redis',
      TASKS_REDIS_URL: `redis://:other@127.0.0.1:${server.port}`,
      TASKS_REDIS_AUTH_FILE: path,
      SECRETS_MASTER_KEY: '0'.repeat(64),
    }),
    clock: systemClock,
    random: () => 0,
    logger: new KeepingLogger(),
  });
  t.teardown(() => store.stop());
  await store.start();
  const replace = async (password: string) => {
    await server.command('ACL', 'SETUSER', 'app', 'resetpass', `>${password}`);
    await server.command('CLIENT', 'KILL', 'USER', 'app');
  };
  write('app:second');
  await replace('second');
  await untilDone(() => store.ping());
  // The file is late.
  await replace('third');
  await failsWith(() => store.ping(), /WRONGPASS|NOAUTH/);
  write('app:third');
  await untilDone(() => store.ping());
});

t.test('a file without a password is reported, and the nodes of a cluster use the file', async t => {
  const { path, write } = authFile(t, '');
  const cluster = await startCluster({ nodes: 3, args: [...TASK_SERVER_ARGS, '--requirepass', 'cl4ster'] });
  t.teardown(() => cluster.stop());
  const file = new AuthFile(path, 'TASKS_REDIS_AUTH_FILE');
  const store = redisTaskStore(cluster.nodes, { authFile: file, startMs: 60_000 });
  t.teardown(() => store.stop());
  const started = store.start();
  started.catch(() => {});
  await failsWith(() => store.ping(), /TASKS_REDIS_AUTH_FILE: '.*auth' is empty; it must hold/);
  write('cl4ster\n');
  await started;
  await Promise.all(
    cluster.nodes.map(node => node.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
  );
  await untilDone(() => store.ping());
});

test('a server that comes back with other settings is not ready', async (server, t) => {
  const { store } = await open(t, server);
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await failsWith(() => store.ping(), /maxmemory-policy is 'allkeys-lru'/);
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await untilDone(() => store.ping());
});
