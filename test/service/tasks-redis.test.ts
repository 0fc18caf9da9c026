import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { USAGE_SPANS, UsageSum } from '../../src/tasks/model/usage.ts';
import { askOverHttp, getPage } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { type PushWorker, reply, startPushWorker } from '../support/push-workers.ts';
import { clusterFor } from '../support/redis-cluster.ts';
import { redisFor } from '../support/redis-server.ts';
import { ServiceProcess } from '../support/service.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService, type Tenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// Tasks in Redis, in the whole program. The store itself has tests of its own.

/** Has a task pushed, and its history written. */
async function runTask(tenant: Tenant, worker: PushWorker): Promise<void> {
  await tenant.make('workers', { name: 'mailer', url: worker.url() });
  const { id } = await tenant.make('tasks', { worker: 'mailer', payload: { to: 'ann' } });
  await tenant.taskIn(id, 'succeeded');
}

async function untilReady(address: string, status: number): Promise<string> {
  let text = '';
  await until(async () => {
    const page = await getPage(address, '/readyz');
    text = page.text;
    return page.status === status;
  });
  return text;
}

/** As a client does that is told to ask again. The id of the task. */
async function createUntilTaken(tenant: Tenant): Promise<string> {
  let id = '';
  await until(async () => {
    const { status, json } = await tenant.ask('POST /tasks', { worker: 'mailer' });
    if (status === 201) id = json.id;
    return status === 201;
  });
  return id;
}

t.test('a Redis that could lose tasks is rejected with the commands that fix it', async t => {
  const redis = await redisFor(t, { args: ['--requirepass', 'hunter2'] });
  const settings = {
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `redis://:hunter2@127.0.0.1:${redis.port}/2`,
    TASKS_REDIS_DURABILITY: 'always',
    TASKS_REDIS_KEY_PREFIX: 'first:',
  };
  const refused = new ServiceProcess({ env: tasksEnv(t, settings) });
  t.match(await refused.ended, { status: 2 });
  t.match(refused.output, /the configured durability is 'always'/);
  const commands = [...refused.output.matchAll(/run 'CONFIG (SET) (\S+) (\S+)'/g)];
  const mends = new Set(commands.map(([, , name, value]) => `${name} ${value}`));
  t.same([...mends].sort(), ['appendfsync always', 'appendonly yes']);
  for (const [, ...words] of commands) await redis.command('CONFIG', ...words);

  const service = await startTasksService(t, settings);
  t.notMatch(refused.output + service.output, /hunter2/);
  const acme = await newTenant(service);
  const worker = await startPushWorker(t, reply(200));
  await runTask(acme, worker);
  t.match((await acme.ask('GET /limits')).json, { limits: { open_tasks: 200_000 } }, 'a default of Redis');
  const spaces = String(await redis.command('INFO', 'keyspace'));
  t.match(spaces, /^db2:/m, 'the database that the address names');
  t.notMatch(spaces, /^db0:/m);
});

t.test('tasks in a Redis that wants TLS, and is away for a while', async t => {
  const authority = new Authority('Test CA');
  const pair = authority.issue({ subject: 'redis', names: ['127.0.0.1'] });
  const directory = tempDirectory(t);
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const ca = file('ca.crt', authority.certificate);
  const port = await freePort();
  const redis = await redisFor(t, {
    args: [
      ...TASK_SERVER_ARGS,
      ...['--tls-port', String(port), '--tls-auth-clients', 'no', '--tls-ca-cert-file', ca],
      ...[
        '--tls-cert-file',
        file('redis.crt', pair.certificate),
        '--tls-key-file',
        file('redis.key', pair.key),
      ],
    ],
  });
  const service = await startTasksService(t, {
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `127.0.0.1:${port}`,
    TASKS_REDIS_TLS: 'true',
    TASKS_REDIS_TLS_CACERT: ca,
    TASKS_REDIS_TIMEOUT: '300ms',
  });
  const acme = await newTenant(service);
  await runTask(acme, await startPushWorker(t, reply(200)));
  const keys = (await redis.command('KEYS', '*')) as string[];
  t.ok(keys.length > 0 && keys.every(key => key.startsWith('sluice:')), 'the prefix that is the default');

  t.match(JSON.parse((await getPage(service.http, '/readyz')).text), {
    ready: true,
    components: { store: 'ok', termination: 'ok', task_store: 'ok' },
  });
  for (const [stop, back] of [
    [async () => redis.freeze(), async () => redis.thaw()],
    [() => redis.kill(), () => redis.start()],
  ] as const) {
    await stop();
    const text = await untilReady(service.http, 503);
    t.match(JSON.parse(text), { ready: false, components: { store: 'ok', task_store: /^(?!ok$)/ } }, text);
    const refusal = await acme.ask('POST /tasks', { worker: 'mailer' });
    t.match(refusal, {
      status: 503,
      headers: { 'retry-after': '1' },
      json: { code: 'store_unavailable' },
    });
    t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' }, 'decisions go on');
    const decision = { domain: 'demo', descriptors: [{ entries: [{ key: 'plan', value: 'partner' }] }] };
    t.match(await askOverHttp(service.http, decision), { status: 200 });
    t.same(await getPage(service.http, '/healthz'), { status: 200, text: 'OK' });
    await back();
    await untilReady(service.http, 200);
    await acme.taskIn(await createUntilTaken(acme), 'succeeded');
  }
  t.equal((await service.terminate()).status, 0);
  // The last task, at least: its threads write what they have counted when they stop.
  const hours = (await redis.command('KEYS', `*{acme}:U:${USAGE_SPANS.hour.ms}:*`)) as string[];
  const usage = new UsageSum();
  for (const hour of hours) {
    const read = "return cjson.encode(cmsgpack.unpack(redis.call('HGET', KEYS[1], '*')))";
    usage.addAll(JSON.parse(String(await redis.command('EVAL', read, '1', hour))));
  }
  for (const count of ['created', 'started', 'succeeded'] as const) t.ok(usage.count(count) > 0, count);
  t.ok(usage.percentile('duration', 0.5), 'of the attempt');
});

t.test('tasks in a cluster: all of a tenant is on one node', async t => {
  const cluster = await clusterFor(t, { args: TASK_SERVER_ARGS });
  const service = await startTasksService(t, {
    TASKS_STORE: 'redis',
    TASKS_REDIS_TYPE: 'cluster',
    TASKS_REDIS_URL: cluster.address,
  });
  const worker = await startPushWorker(t, reply(200));
  for (const domain of ['acme', 'bolt', 'core', 'dune']) {
    await runTask(await newTenant(service, domain), worker);
    const found = await Promise.all(cluster.nodes.map(node => node.command('KEYS', `*{${domain}}*`)));
    t.equal(found.filter(keys => (keys as string[]).length > 0).length, 1, domain);
  }
});
