import { randomBytes } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { getPage, statistic } from '../support/asking.ts';
import { startRedis } from '../support/redis-server.ts';
import { ServiceProcess, startService } from '../support/service.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { TaskCaller, taskSettings } from '../support/tasks/served-tasks.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// They mostly wait for services that start, and for the watch of the store.
t.setTimeout(240_000);
t.jobs = 3;
const SIDE_BY_SIDE = { buffered: true };

const BEGAN = /^The (task store is unavailable|master key cannot decrypt)/;
const OVER = /^The task store is available again/;

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startService({ env });
  t.teardown(() => service.terminate());
  return service;
}

async function readiness(service: ServiceProcess) {
  const { status, text } = await getPage(service.http, '/readyz?verbose');
  return { status, ...JSON.parse(text) };
}

/** A cause that begins is in `/readyz`, the log and the statistics, and so is its end. */
async function isSaid(
  t: Test,
  service: ServiceProcess,
  fault: { readonly cause: string; readonly part?: string; end(): unknown },
): Promise<void> {
  const { cause, part = 'task_store', end } = fault;
  const gauge = () => statistic(service.debug, `tasks.not_ready.${cause}`);
  const ofCause = (line: Readonly<Record<string, unknown>>, message: RegExp) =>
    message.test(String(line['@message'])) && line['cause'] === cause;
  const began = await service.logged(line => ofCause(line, BEGAN));
  t.match(began, { level: 'error', cause, reason: String, advice: String });
  await until(async () => (await readiness(service)).causes?.[part] === cause);
  const page = await readiness(service);
  t.match(page, { status: 503, ready: false, causes: { [part]: cause } }, JSON.stringify(page));
  t.not(page.components[part], 'ok');
  await until(async () => (await gauge()) === 1);
  t.equal(service.logs.filter(line => ofCause(line, BEGAN)).length, 1, 'it is one line');
  await end();
  await service.logged(line => ofCause(line, OVER));
  await until(async () => (await readiness(service)).status === 200);
  await until(async () => (await gauge()) === 0);
}

t.test('SQLite: a lock of another process', SIDE_BY_SIDE, async t => {
  const directory = tempDirectory(t);
  const service = await start(t, taskSettings(t, { directory }));
  const other = new DatabaseSync(join(directory, 'tasks.db'));
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await isSaid(t, service, { cause: 'file_locked', end: () => other.exec('ROLLBACK') });
});

t.test('SQLite: the file was moved away', SIDE_BY_SIDE, async t => {
  const directory = tempDirectory(t);
  const service = await start(t, taskSettings(t, { directory }));
  const [path, away] = ['tasks.db', 'away.db'].map(name => join(directory, name));
  renameSync(path, away);
  await isSaid(t, service, { cause: 'file_moved', end: () => renameSync(away, path) });
});

t.test('SQLite: the disk is full, at work and at the start', SIDE_BY_SIDE, async t => {
  const directory = smallDisk(t, '8m');
  if (directory === null) return t.comment('this process may not mount a file system');
  const env = taskSettings(t, { directory });
  const service = await start(t, env);
  const filler = fillDisk(directory);
  await isSaid(t, service, { cause: 'disk_full', end: () => rmSync(filler) });
  await service.terminate();
  fillDisk(directory);
  const failing = new ServiceProcess({ env });
  const end = await failing.ended;
  t.not(end.status, 0);
  t.match(failing.output, /the disk is full: free some space/, 'it says so');
});

t.test('another master key than that of the secrets', SIDE_BY_SIDE, async t => {
  const directory = tempDirectory(t);
  const env = taskSettings(t, { directory });
  const first = await start(t, env);
  const acme = new TaskCaller(t);
  await acme.signUp(first.http);
  const { id } = await acme.made(first.http, 'POST', '/workers', {
    name: 'mailer',
    url: 'http://127.0.0.1:8099/',
  });
  await acme.made(first.http, 'POST', `/workers/${id}/secrets`, { type: 'signing' });
  t.equal((await readiness(first)).status, 200);
  await first.terminate();
  const second = await start(t, { ...env, SECRETS_MASTER_KEY: randomBytes(32).toString('base64') });
  const third = () =>
    start(t, {
      ...env,
      SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
      SECRETS_PREVIOUS_MASTER_KEYS: String(env['SECRETS_MASTER_KEY']),
    });
  const line = await second.logged(({ '@message': message }) => BEGAN.test(String(message)));
  await until(async () => (await readiness(second)).causes?.master_key === 'wrong_master_key');
  t.match(line, { level: 'error', cause: 'wrong_master_key', advice: /SECRETS_PREVIOUS_MASTER_KEYS/ });
  t.notMatch(second.output, String(env['SECRETS_MASTER_KEY']));
  await second.terminate();
  t.match(await readiness(await third()), { status: 200, components: { master_key: 'ok' } });
});

t.test('Redis: another master key, memory, replica, replicas, and away', SIDE_BY_SIDE, async t => {
  const redis = await startRedis({ args: TASK_SERVER_ARGS });
  t.teardown(() => redis.stop());
  const service = await start(t, taskSettings(t, { redis }));
  const other = await start(t, {
    ...taskSettings(t, { redis }),
    SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
  });
  const page = await readiness(other);
  t.match(page, { status: 503, causes: { master_key: 'wrong_master_key' } }, 'although there is no secret');
  t.equal((await readiness(service)).status, 200);
  await other.terminate();
  const set = (name: string, value: string) => redis.command('CONFIG', 'SET', name, value);
  await set('maxmemory', '1');
  await isSaid(t, service, { cause: 'redis_memory', end: () => set('maxmemory', '0') });
  await set('min-replicas-to-write', '1');
  await isSaid(t, service, { cause: 'redis_replicas', end: () => set('min-replicas-to-write', '0') });
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  await isSaid(t, service, { cause: 'redis_read_only', end: () => redis.command('REPLICAOF', 'NO', 'ONE') });
  await redis.kill();
  await isSaid(t, service, { cause: 'not_connected', end: () => redis.start() });
  t.notMatch(service.output, /Unhandled/);
});
