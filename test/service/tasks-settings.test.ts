import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { headerOf, reply, startPushWorker } from '../support/push-workers.ts';
import { isListening, ServiceProcess, serviceFor } from '../support/service.ts';
import {
  ask,
  askForAccount,
  MASTER_KEY,
  OTHER_MASTER_KEY,
  outerAddress,
  startTasksService,
  Tenant,
  tasksEnv,
} from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// Settings of tasks in the whole program. Those of Redis and of pushes have files of their own.

/** Has the program run this first, in each of its threads. */
function preloading(code: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** Tells of every module of the task service that is loaded, and of every PRAGMA that goes to SQLite. */
const WATCHING = `
  import { writeSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      if (/\\/(src|app)\\/tasks\\//.test(url)) writeSync(2, 'loaded ' + url + '\\n');
      return next(url, context);
    },
  });
  const sqlite = process.getBuiltinModule('node:sqlite');
  const { exec } = sqlite.DatabaseSync.prototype;
  sqlite.DatabaseSync.prototype.exec = function (sql) {
    if (/PRAGMA/.test(sql)) writeSync(2, 'sqlite ' + sql.replaceAll(/\\s+/g, ' ') + '\\n');
    return exec.call(this, sql);
  };`;

/** Two hours later; what is done now and then begins at once. */
const TWO_HOURS_LATER = `
  const now = Date.now;
  Date.now = () => now() + 2 * 3_600_000;
  Math.random = () => 0;`;

/** The number of threads that look up names, where it can be seen. */
function lookupThreads(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  const nameOf = (thread: string): string => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim();
    } catch {
      // It has ended meanwhile, as the thread does that compiles rules.
      return '';
    }
  };
  const names = readdirSync(`/proc/${pid}/task`).map(nameOf);
  return names.filter(name => name === 'libuv-worker').length;
}

const OPERATOR = 'operator-of-this-test';
const ANSWER = '/api/v1/limits';

t.test('TASKS_ENABLED off: nothing of tasks is served or loaded', async t => {
  const { TASKS_ENABLED: _, ...env } = tasksEnv(t, preloading(WATCHING));
  const service = await serviceFor(t, { env });
  const threads = lookupThreads(service.pid);
  if (threads !== null) t.equal(threads, 4, 'threads that look up names');
  for (const call of ['GET /api/v1/tasks', 'POST /accounts', 'GET /api/v1/openapi.json'] as const) {
    const { status, text } = await ask(service.http, call, { headers: { host: 'acme.localhost' } });
    t.equal(status, 404, call);
    t.match(JSON.parse(text), { type: 'about:blank' }, 'a problem, but none of the task service');
  }
  t.match(
    await askOverHttp(service.http, { domain: 'demo', descriptors: [{ entries: [{ key: 'user' }] }] }),
    {
      status: 200,
    },
  );
  t.notMatch(service.output, /^loaded /m);
  t.same(readdirSync(env['TASKS_DATA_DIRECTORY']), [], 'and no file is made');
});

t.test('hosts, accounts, keys and limits', async t => {
  const data = join(tempDirectory(t), 'made', 'as', 'needed');
  const keyFile = join(tempDirectory(t), 'master.key');
  writeFileSync(keyFile, `${MASTER_KEY}\n`, { mode: 0o600 });
  const service = await startTasksService(t, {
    ...preloading(WATCHING),
    TASKS_DATA_DIRECTORY: data,
    TASKS_SQLITE_SYNCHRONOUS: 'normal',
    SERVICE_HOST: 'tasks.example.com',
    TASKS_TENANT_HEADER: 'true',
    ACCOUNTS_SIGNUP: 'operator',
    ACCOUNTS_OPERATOR_TOKEN: OPERATOR,
    SECRETS_MASTER_KEY_FILE: keyFile,
    TASKS_MAX_OPEN: '4',
    TASKS_MAX_PAYLOAD_BYTES: '10',
    TASKS_MAX_WORKERS: '2',
    TASKS_MAX_SCHEDULES: '1',
    TASKS_MAX_USERS: '2',
    TASKS_MAX_TOKENS: '2',
    TASKS_MAX_IN_FLIGHT: '3',
    TASKS_RETAIN_SUCCEEDED: '1h',
    TASKS_RETAIN_OTHER: '3h',
  });
  t.match(
    service.output,
    /^loaded file:.*\/src\/tasks\/rest\//m,
    'the watch of the test before sees what is loaded',
  );
  t.match(service.output, /^sqlite .*PRAGMA synchronous = normal/m);
  const threads = lookupThreads(service.pid);
  if (threads !== null) t.equal(threads, 32, 'threads that look up names where tasks may be pushed');
  t.equal(statSync(data).mode & 0o777, 0o700, 'the directory is made, for its owner');

  const host = { host: 'accounts.tasks.example.com' };
  const body = { domain: 'acme' };
  const bearer = (token: string) => ({ headers: { ...host, authorization: `Bearer ${token}` }, body });
  t.match(await ask(service.http, 'POST /', { headers: host, body }), {
    json: { code: 'authentication_required' },
  });
  t.match(await ask(service.http, 'POST /', bearer('somebody-or-other')), {
    json: { code: 'invalid_token' },
  });
  const made = await ask(service.http, 'POST /', bearer(OPERATOR));
  t.match(
    made,
    { status: 201, json: { api_url: 'https://acme.tasks.example.com/api/v1' } },
    'https, no port',
  );
  const acme = new Tenant(service.http, made.json);
  t.match(await acme.ask('GET /limits'), { status: 200 });
  const elsewhere = await ask(service.http, `GET ${ANSWER}`, { headers: { host: 'acme.localhost' } });
  t.match(elsewhere, { status: 404, json: { code: 'tenant_not_found' } });
  const named = { host: 'lb.internal', 'x-tenant-domain': 'acme', authorization: `Bearer ${acme.token}` };
  t.match(
    await ask(service.http, `GET ${ANSWER}`, { headers: named }),
    { status: 200 },
    'TASKS_TENANT_HEADER',
  );

  t.match((await acme.ask('GET /limits')).json.limits, {
    ...{ open_tasks: 4, retain_succeeded: '1h', retain_other: '3h', payload_bytes: 10, workers: 2 },
    ...{ schedules: 1, users: 2, tokens_per_user: 2, in_flight: 3, dispatch_per_second: 500 },
  });
  const worker = await startPushWorker(t, reply(200));
  await acme.make('workers', { name: 'pull', mode: 'pull' });
  await acme.make('workers', { name: 'push', url: worker.url() });
  const used = async (what: string, more: unknown, code = 'quota_exceeded') => {
    const { status, json } = await acme.ask(`POST /${what}`, more);
    t.match(
      { status, code: json.code },
      { status: code === 'quota_exceeded' ? 429 : 413, code },
      `${what}: ${json.detail}`,
    );
  };
  await used('workers', { name: 'third', mode: 'pull' });
  await acme.make('schedules', { name: 'one', worker: 'pull', every: '1h', task: {} });
  await used('schedules', { name: 'two', worker: 'pull', every: '1h', task: {} });
  const ann = await acme.make('users', { email: 'ann@example.com', role: 'viewer' });
  await used('users', { email: 'bob@example.com', role: 'viewer' });
  for (const name of ['a', 'b']) await acme.make(`users/${ann.id}/tokens`, { name });
  await used(`users/${ann.id}/tokens`, { name: 'c' });
  await used('tasks', { worker: 'pull', payload: 'far too much' }, 'payload_too_large');

  const ids: string[] = [];
  for (let number = 0; number < 4; number++) ids.push((await acme.make('tasks', { worker: 'pull' })).id);
  await used('tasks', { worker: 'pull' });
  const { json } = await acme.ask('POST /workers/pull/leases', { max: 4 });
  t.equal(json.leases.length, 3, 'TASKS_MAX_IN_FLIGHT');
  await acme.ask(`POST /leases/${json.leases[0].lease_id}/complete`, {});
  const ended: string = json.leases[0].task.id;
  const canceled = ids.at(-1)!;
  t.match(await acme.ask(`PUT /tasks/${canceled}`, { status: 'canceled' }), { status: 200 });
  const secret = await acme.make('workers/push/secrets', { type: 'signing', name: 'first' });
  t.match(await service.terminate(), { status: 0 });

  const later = await startTasksService(t, {
    ...preloading(TWO_HOURS_LATER),
    TASKS_DATA_DIRECTORY: data,
    HOST: '0.0.0.0',
    ACCOUNTS_SIGNUP: 'open',
    SECRETS_MASTER_KEY: OTHER_MASTER_KEY,
    SECRETS_PREVIOUS_MASTER_KEYS: MASTER_KEY,
    TASKS_RETAIN_SUCCEEDED: '1h',
    TASKS_RETAIN_OTHER: '3h',
    TASKS_DISPATCH_RATE: '2',
  });
  const port = later.http.split(':')[1];
  t.equal(
    (await askForAccount({ http: `${outerAddress()}:${port}` }, 'far')).status,
    201,
    'open to everybody',
  );
  const same = new Tenant(later.http, { api_url: 'http://acme.localhost' }, acme.token);
  t.match(
    await ask(later.http, `GET ${ANSWER}`, { headers: { ...named, host: 'nobody.localhost' } }),
    { status: 404 },
    'the header names nobody',
  );
  // It goes with the first pass over what is kept too long.
  await until(async () => (await same.ask(`GET /tasks/${ended}`)).status === 404);
  t.match(await same.ask(`GET /tasks/${canceled}`), { status: 200 }, 'TASKS_RETAIN_OTHER is longer');

  const pushed = await same.make('tasks', { worker: 'push', payload: { to: 'ann' } });
  await same.taskIn(pushed.id, 'succeeded');
  const [request] = worker.requests;
  const at = new Date(Number(headerOf(request, 'webhook-timestamp')) * 1_000);
  const expected = new Webhook(secret.value).sign(pushed.id, at, request.body);
  t.equal(headerOf(request, 'webhook-signature'), expected, 'what the older key sealed still opens');

  for (let number = 0; number < 4; number++) await same.make('tasks', { worker: 'pull' });
  const { leases } = (await same.ask('POST /workers/pull/leases', { max: 5 })).json;
  t.ok(leases.length <= 2, `TASKS_DISPATCH_RATE: ${leases.length} of at least 4 tasks are given at once`);
});

t.test('what cannot be used ends the start, with a text that names it', async t => {
  const directory = tempDirectory(t);
  const file = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const opened = file('opened.key', MASTER_KEY);
  chmodSync(opened, 0o644);
  const missing = join(directory, 'missing.pem');
  mkdirSync(join(directory, 'tasks.db'));
  const refusals = (
    [
      [
        { SECRETS_MASTER_KEY_FILE: opened },
        `${opened} contains the master key and must be readable by its owner only`,
      ],
      [
        { TASKS_DATA_DIRECTORY: join(opened, 'x') },
        `TASKS_DATA_DIRECTORY: the directory '${join(opened, 'x')}' cannot be created: ${opened} is not a directory`,
      ],
      [
        { TASKS_DATA_DIRECTORY: '/proc/sluice/data' },
        process.platform === 'linux'
          ? 'the file system of /proc accepts no new directories'
          : 'cannot be created',
      ],
      [{ TASKS_DATA_DIRECTORY: directory }, 'tasks.db'],
      [{ TASKS_PUSH_CACERT: missing }, `TASKS_PUSH_CACERT: '${missing}' cannot be read`],
    ] as const
  ).map(async ([env, text]) => {
    const service = new ServiceProcess({ env: tasksEnv(t, env) });
    t.match(await service.ended, { status: 2 }, text);
    const line = service.logs.find(each => each['@message'] === 'Sluice cannot start');
    t.match(line, { level: 'error', reason: text }, service.output);
    t.notMatch(service.output, MASTER_KEY);
    t.notOk(service.logs.some(isListening));
  });
  await Promise.all(refusals);
});
