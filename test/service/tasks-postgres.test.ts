import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, getPage } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { giveTo, noPostgres, owner, type PostgresServer, postgresFor } from '../support/postgres-server.ts';
import { type PushWorker, reply, startPushWorker } from '../support/push-workers.ts';
import { ServiceProcess } from '../support/service.ts';
import { newTenant, startTasksService, type Tenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// Tasks in PostgreSQL, in the whole program. The store itself has tests of its own.

const options = { skip: noPostgres };

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

/** A server that has a certificate, and wants a password and TLS. */
async function openSealed(t: Test): Promise<{ readonly server: PostgresServer; readonly ca: string }> {
  const authority = new Authority('Test CA');
  const pair = authority.issue({ subject: 'postgres', names: ['127.0.0.1'] });
  const directory = tempDirectory(t);
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content, { mode: 0o600 });
    return join(directory, name);
  };
  const ca = file('ca.crt', authority.certificate);
  const files = [
    `ssl_cert_file=${file('server.crt', pair.certificate)}`,
    `ssl_key_file=${file('server.key', pair.key)}`,
    `hba_file=${file('hba.conf', 'host all postgres all trust\nhostssl all app all scram-sha-256\n')}`,
  ];
  giveTo(directory, owner());
  const server = await postgresFor(t, { settings: ['ssl=on', ...files] });
  await server.query("CREATE ROLE app LOGIN PASSWORD 'hunter2'");
  await server.query('CREATE DATABASE tasks OWNER app');
  return { server, ca };
}

t.test(
  'a PostgreSQL that refuses the user stops the start, and the password is not shown',
  options,
  async t => {
    const { server, ca } = await openSealed(t);
    const settings = {
      TASKS_STORE: 'postgres',
      TASKS_POSTGRES_TLS_CACERT: ca,
      TASKS_POSTGRES_URL: `postgres://app:sesame@127.0.0.1:${server.port}/tasks?sslmode=verify-full`,
    };
    const refused = new ServiceProcess({ env: tasksEnv(t, settings) });
    t.match(await refused.ended, { status: 2 });
    t.match(
      refused.output,
      /password authentication failed .* \(check the user and the password in TASKS_POSTGRES_URL or TASKS_POSTGRES_PASSWORD_FILE\)/,
    );
    t.notMatch(refused.output, /sesame/);
  },
);

t.test(
  'the password of a file is used, and read again when it has changed; commits need not be flushed',
  options,
  async t => {
    const { server, ca } = await openSealed(t);
    const file = join(tempDirectory(t), 'password');
    const setPassword = async (password: string): Promise<void> => {
      writeFileSync(file, `${password}\n`, { mode: 0o600 });
      await server.query(`ALTER ROLE app PASSWORD '${password}'`);
    };
    await setPassword('first-sesame');
    const service = await startTasksService(t, {
      TASKS_STORE: 'postgres',
      TASKS_POSTGRES_URL: `postgres://app:not-this@127.0.0.1:${server.port}/tasks?sslmode=verify-full`,
      TASKS_POSTGRES_TLS_CACERT: ca,
      TASKS_POSTGRES_PASSWORD_FILE: file,
      TASKS_POSTGRES_SYNCHRONOUS_COMMIT: 'off',
    });
    const acme = await newTenant(service);
    await acme.make('workers', { name: 'mailer', mode: 'pull' });
    await setPassword('second-sesame');
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
    await createUntilTaken(acme);
    await untilReady(service.http, 200);
    t.notMatch(service.output, /sesame|not-this/);
    const statements = await server.query<{ readonly query: string }>(
      "SELECT query FROM pg_stat_activity WHERE application_name = 'sluice' AND query ~ 'create_several'",
    );
    t.match(statements, [{ query: /set_config\('synchronous_commit', 'off', true\)/ }]);
  },
);

t.test('a password file that cannot be read stops the start', options, async t => {
  const { server, ca } = await openSealed(t);
  const file = join(tempDirectory(t), 'missing');
  const refused = new ServiceProcess({
    env: tasksEnv(t, {
      TASKS_STORE: 'postgres',
      TASKS_POSTGRES_URL: `postgres://app@127.0.0.1:${server.port}/tasks?sslmode=verify-full`,
      TASKS_POSTGRES_TLS_CACERT: ca,
      TASKS_POSTGRES_PASSWORD_FILE: file,
    }),
  });
  t.match(await refused.ended, { status: 2 });
  t.match(refused.output, `TASKS_POSTGRES_PASSWORD_FILE: '${file}' cannot be read`);
});

t.test('tasks in a PostgreSQL that wants TLS, and is away for a while', options, async t => {
  const { server, ca } = await openSealed(t);
  const service = await startTasksService(t, {
    TASKS_STORE: 'postgres',
    TASKS_POSTGRES_URL: `postgres://app:hunter2@127.0.0.1:${server.port}/tasks`,
    TASKS_POSTGRES_TLS: 'true',
    TASKS_POSTGRES_TLS_CACERT: ca,
    TASKS_POSTGRES_TIMEOUT: '300ms',
  });
  const acme = await newTenant(service);
  await runTask(acme, await startPushWorker(t, reply(200)));
  const sessions = `SELECT bool_and(ssl) AS sealed FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE application_name = 'sluice'`;
  t.same(await server.query(sessions), [{ sealed: true }]);

  for (const [stop, back] of [
    [async () => server.freeze(), async () => server.thaw()],
    [() => server.kill(), () => server.start()],
  ] as const) {
    await stop();
    const text = await untilReady(service.http, 503);
    t.match(JSON.parse(text), { ready: false, components: { store: 'ok', task_store: /^(?!ok$)/ } }, text);
    const refusal = await acme.ask('POST /tasks', { worker: 'mailer' });
    t.match(refusal, { status: 503, headers: { 'retry-after': '1' }, json: { code: 'store_unavailable' } });
    t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' }, 'decisions go on');
    const decision = { domain: 'demo', descriptors: [{ entries: [{ key: 'plan', value: 'partner' }] }] };
    t.match(await askOverHttp(service.http, decision), { status: 200 });
    await back();
    await untilReady(service.http, 200);
    await acme.taskIn(await createUntilTaken(acme), 'succeeded');
  }
  t.equal((await service.terminate()).status, 0);
  t.notMatch(service.output, /hunter2/);
  const counted = await server.query('SELECT FROM sluice.usage WHERE worker = 0', { database: 'tasks' });
  t.ok(counted.length > 0, 'threads write what they have counted when they stop');
});

t.test('TASKS_POSTGRES_SYNCHRONOUS_COMMIT=local does not wait for a standby', options, async t => {
  const server = await postgresFor(t);
  const settings = { TASKS_STORE: 'postgres', TASKS_POSTGRES_URL: server.url() };
  const service = await startTasksService(t, { ...settings, TASKS_POSTGRES_SYNCHRONOUS_COMMIT: 'local' });
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'later', mode: 'pull' });
  await server.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await server.query('SELECT pg_reload_conf()');
  await acme.make('tasks', { worker: 'later' });
});
