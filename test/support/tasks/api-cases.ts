import type { Test } from 'tap';
import { getPage } from '../asking.ts';
import { reply, startPushWorker } from '../push-workers.ts';
import { sendRaw } from '../raw-http.ts';
import type { ServiceProcess } from '../service.ts';
import { answerCheckOf, writtenAs } from './answer-check.ts';
import { TaskHarness } from './task-harness.ts';
import { type ApiAnswer, ask, newTenant, startTasksService, Tenant } from './tasks-service.ts';

const MIB = 1024 * 1024;

/** Of the service as it runs: its document is made from the same routes. */
const check = answerCheckOf(new TaskHarness().routes);

/** A tenant each of whose answers is compared with the document. */
class CheckedTenant extends Tenant {
  override async ask(...asked: Parameters<Tenant['ask']>): Promise<ApiAnswer> {
    const answer = await super.ask(...asked);
    const [method, target] = asked[0].split(' ');
    check.check(method, `/api/v1${target.split('?')[0]}`, writtenAs(answer));
    return answer;
  }
}

function checked({ token, account }: Tenant, address: string): CheckedTenant {
  return new CheckedTenant(address, account, token);
}

/** Where the service of {@link apiCases} stores tasks. */
export interface ApiStore {
  readonly settings: Readonly<Record<string, string>>;
  /** All that is in its files. */
  files(): string;
}

/** What callers see of the interface, on the whole program with a store. @param open an empty store, for one test */
export function apiCases(
  t: Test,
  open: (t: Test) => Promise<ApiStore>,
  options: { readonly skip: string | false } = { skip: false },
): void {
  t.test('one service', options, async t => {
    const { settings } = await open(t);
    const service = await startTasksService(t, settings);
    await t.test('a client that knows the seed document alone gets along', t =>
      knowsSeedDocument(t, service),
    );
    await t.test('over the wire: hosts, methods, bounds and repeated keys', t =>
      isAskedOverTheWire(t, service),
    );
  });
  t.test('what is secret is in no answer, no log, no statistic, and not in the file', options, async t =>
    keepsSecrets(t, await open(t)),
  );
}

async function knowsSeedDocument(t: Test, service: ServiceProcess): Promise<void> {
  const made = await ask(service.http, 'POST /', {
    headers: { host: 'accounts.localhost' },
    body: { domain: 'seed' },
  });
  t.match(made, { status: 201, json: { domain: 'seed' } });
  const tenant = new CheckedTenant(service.http, made.json);
  const worker = await tenant.ask('POST /workers', { name: 'mailer' });
  t.equal(worker.status, 201);
  t.equal((await tenant.ask(`PUT /workers/${worker.json.id}`, { concurrency: 5 })).status, 200);
  t.equal((await tenant.ask(`POST /workers/${worker.json.id}/secrets`)).status, 201);
  const task = await tenant.ask('POST /tasks', { worker: 'mailer' });
  t.equal(task.status, 201);
  const { id } = task.json;
  t.equal((await tenant.ask(`PUT /tasks/${id}`, { status: 'paused' })).json.status, 'paused');
  t.equal((await tenant.ask(`GET /tasks/${id}`)).json.id, id);
  const history = await tenant.ask(`GET /tasks/${id}/history`);
  t.same(
    history.json.data.map((entry: { event: string }) => entry.event),
    ['created', 'paused'],
  );
  const year = String(new Date().getUTCFullYear());
  const now = Date.now();
  const found: [string, number][] = [
    ['', 1],
    ['?worker=mailer', 1],
    ['?status=paused', 1],
    ['?status=retry', 0],
    [`?start=${year}`, 1],
    [`?end=${Number(year) - 1}`, 0],
    [`?start=${new Date(now - 3_600_000).toISOString()}&end=${new Date(now + 3_600_000).toISOString()}`, 1],
    [`?worker=mailer&status=paused&start=${year}&end=${year}`, 1],
  ];
  for (const [query, count] of found) {
    const answer = await tenant.ask(`GET /tasks${query}` as 'GET /tasks');
    t.same([answer.status, answer.json.data.length], [200, count], query);
  }
  t.equal((await tenant.ask('GET /tasks?worker=other' as 'GET /tasks')).status, 422);
  t.equal((await tenant.ask(`DELETE /tasks/${id}`)).status, 204);
  t.equal((await tenant.ask(`GET /tasks/${id}`)).status, 404);
  const user = await tenant.ask('POST /users', { email: 'ann@example.com' });
  t.equal(user.status, 201);
  t.equal((await tenant.ask('GET /users')).json.data.length, 2);
  t.equal((await tenant.ask(`GET /users/${user.json.id}`)).json.email, 'ann@example.com');
  t.equal((await tenant.ask(`PUT /users/${user.json.id}`, { name: 'Ann' })).json.name, 'Ann');
  t.equal((await tenant.ask(`DELETE /users/${user.json.id}`)).status, 204);
  t.equal((await tenant.ask(`GET /users/${user.json.id}`)).status, 404);
}

async function isAskedOverTheWire(t: Test, service: ServiceProcess): Promise<void> {
  const tenant = checked(await newTenant(service), service.http);
  const { http } = service;
  await tenant.make('workers', { name: 'mailer' });
  const bearer = `Authorization: Bearer ${tenant.token}\r\n`;
  const send = (line: string, host: string, rest = '') =>
    sendRaw(http, `${line} HTTP/1.1\r\n${host}${bearer}${rest}\r\n`);

  await t.test(
    'the host names the tenant, with a port or without, in capitals or not; where it names none, the token does',
    async t => {
      const port = http.split(':')[1];
      const own = [
        'acme.localhost',
        'ACME.LocalHost',
        'acme.localhost:1',
        'acme.localhost.',
        'acme.localhost.:1',
      ];
      const plain = ['localhost', '[::1]', `[::1]:${port}`, '[::ffff:127.0.0.1]:80', http, 'acme'];
      for (const host of [...own, `acme.localhost:${port}`, ...plain]) {
        t.equal((await send('GET /api/v1/tasks', `Host: ${host}\r\n`)).status, 200, host);
      }
      for (const host of ['nobody.localhost', 'acme.acme.localhost', '-.localhost']) {
        const answer = await send('GET /api/v1/tasks', `Host: ${host}\r\n`);
        t.equal(answer.status, 404, host);
        t.match(answer.body, '"code":"tenant_not_found"', host);
      }
      const header = 'X-Tenant-Domain: acme\r\n';
      t.match(await send('GET /api/v1/tasks', 'Host: nobody.localhost\r\n', header), { status: 404 });
      const missing = await send('GET /api/v1/tasks', '');
      t.equal(missing.status, 400, 'without a host');
      const twice = await send('GET /api/v1/tasks', 'Host: nobody.localhost\r\nHost: acme.localhost\r\n');
      t.equal(twice.status, 400, 'two hosts');
      t.equal((await send('GET /api/v1/tasks', 'Host: acme@localhost\r\n')).status, 400, 'no host name');
    },
  );

  await t.test('methods', async t => {
    const host = 'Host: acme.localhost\r\n';
    const head = await send('HEAD /api/v1/tasks', host);
    t.same([head.status, head.body], [200, '']);
    for (const method of ['OPTIONS', 'TRACE', 'PATCH', 'DELETE', 'PROPFIND']) {
      const answer = await send(`${method} /api/v1/tasks`, host, 'Content-Length: 0\r\n');
      t.equal(answer.status, 405, method);
      t.equal(answer.headers['allow'], 'GET, POST, HEAD');
      t.notMatch(answer.body, tenant.token, 'TRACE repeats nothing');
    }
  });

  await t.test('what is too large is told so, and the service goes on', async t => {
    const head = `Host: acme.localhost\r\nContent-Type: application/json\r\n${bearer}`;
    const post = (body: string) =>
      sendRaw(http, `POST /api/v1/tasks HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    const large = await post(' '.repeat(6 * MIB + 1));
    t.equal(large.status, 413);
    t.match(large.body, '"code":"body_too_large"');
    const most = await post(`{"worker":"mailer"}${' '.repeat(6 * MIB - 19)}`);
    t.equal(most.status, 201, most.body.slice(0, 200));
    for (const [bytes, ofPath, ofQuery] of [
      [10_000, 404, 400],
      [40_000, 431, 431],
    ]) {
      const text = 'a'.repeat(bytes);
      const path = await send(`GET /api/v1/tasks/${text}`, 'Host: acme.localhost\r\n');
      t.equal(path.status, ofPath, `a path of ${bytes} bytes`);
      const query = await send(`GET /api/v1/tasks?worker=${text}`, 'Host: acme.localhost\r\n');
      t.equal(query.status, ofQuery, `a query of ${bytes} bytes`);
    }
    for (const path of ['%', '%00', '%ff%fe', '..%2f..%2f', '%2e%2e/%2e%2e/users']) {
      t.equal((await send(`GET /api/v1/tasks/${path}`, 'Host: acme.localhost\r\n')).status, 404, path);
    }
    t.equal((await tenant.ask('GET /tasks')).status, 200);
  });

  await t.test('of twenty equal requests at once with one key, one makes a task', async t => {
    const before = (await tenant.ask('GET /tasks/counts')).json.counts.scheduled;
    const body = { worker: 'mailer', payload: { a: 1 } };
    const key = { 'idempotency-key': 'at-once' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.ask('POST /tasks', body, key)));
    const made = answers.filter(({ status }) => status === 201);
    t.ok(made.length >= 1);
    t.equal(new Set(made.map(({ json }) => json.id)).size, 1);
    t.equal(made.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1);
    for (const { status, json } of answers) {
      if (status !== 201)
        t.match({ status, json }, { status: 409, json: { code: 'idempotency_in_progress' } });
    }
    t.equal((await tenant.ask('GET /tasks/counts')).json.counts.scheduled, before + 1);
    await tenant.ask(`PUT /tasks/${made[0].json.id}`, { payload: 2, type: 'changed' });
    t.same((await tenant.ask('POST /tasks', body, key)).json, made[0].json, 'the first answer, ever after');
  });

  await t.test('strange texts come back from the store as they went in', async t => {
    const text = '\u0000\ud800😀\u2028"\\';
    const fields = { payload: { [text]: text }, tags: [text], metadata: { [text]: text } };
    const { id } = await tenant.make('tasks', { worker: 'mailer', ...fields });
    const { payload, tags, metadata } = (await tenant.ask(`GET /tasks/${id}`)).json;
    t.same({ payload, tags, metadata }, fields);
  });

  t.notOk(
    service.logs.some(line => line['level'] === 'error'),
    'nothing of it was an error',
  );
}

async function keepsSecrets(t: Test, { settings, files }: ApiStore): Promise<void> {
  const operator = 'operator-c4nary-operator';
  const master = Buffer.alloc(32, 0xc4).toString('base64');
  const service = await startTasksService(t, {
    LOG_LEVEL: 'trace',
    DISABLE_STATS: 'false',
    USE_STATSD: 'false',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    ...settings,
    ACCOUNTS_SIGNUP: 'operator',
    ACCOUNTS_OPERATOR_TOKEN: operator,
    SECRETS_MASTER_KEY: master,
  });
  const worker = await startPushWorker(t, reply(500, {}, 'no'));
  const tenant = checked(
    await newTenant(service, 'acme', { authorization: `Bearer ${operator}` }),
    service.http,
  );
  const answers: string[] = [];
  const asking: Tenant['ask'] = async (call, body, headers) => {
    const answer = await tenant.ask(call, body, headers);
    answers.push(JSON.stringify(answer.headers), answer.text);
    return answer;
  };
  const push = (await asking('POST /workers', { name: 'push', url: worker.url('/') })).json;
  const pull = (await asking('POST /workers', { name: 'pull' })).json;
  const made = await Promise.all([
    tenant.make(`workers/${push.id}/secrets`, { type: 'signing' }),
    tenant.make(`workers/${pull.id}/secrets`, { type: 'token' }),
  ]);
  const header = 'header-c4nary-value';
  const signing = `whsec_${Buffer.alloc(32, 0x5e).toString('base64')}`;
  await asking(`POST /workers/${push.id}/secrets`, { type: 'header', name: 'x-api-key', value: header });
  await asking(`POST /workers/${push.id}/secrets`, { value: signing });
  const user = (await asking('POST /users', { email: 'ann@example.com' })).json;
  const ofUser = (await tenant.make(`users/${user.id}/tokens`, {})).token;
  const payload = 'payload-c4nary-payload';
  const task = (await asking('POST /tasks', { worker: 'push', retry: { max_attempts: 1 } })).json;
  await tenant.taskIn(task.id, 'failed');
  const sealed = [made[0].value, header, signing];
  const tokens = [tenant.token, ofUser, made[1].value, operator];
  const secrets = [...sealed, ...sealed.map(one => one.replace('whsec_', '')), ...tokens, master];
  const pushed = worker.requests.map(({ fields }) => JSON.stringify(fields)).join();
  t.match(pushed, header, 'who is to have it has it');

  const misplaced: [Parameters<Tenant['ask']>[0], unknown?, Record<string, string>?][] = [
    [`POST /workers/${push.id}/secrets`, { type: 'token', value: header }],
    [`POST /workers/${push.id}/secrets`, { type: 'header', name: 'host', value: header }],
    [`POST /workers/${push.id}/secrets`, { type: 'signing', value: `${signing}!` }],
    [`POST /workers/${push.id}/secrets`, { type: header, value: header }],
    ['POST /tasks', { worker: 'push', priority: payload, payload }],
    ['POST /tasks', { worker: 'push', payload: { payload }, run_at: payload }],
    ['GET /tasks', undefined, { authorization: `Bearer ${operator}` }],
    ['GET /tasks', undefined, { authorization: `Bearer ${made[1].value}` }],
    ['GET /tasks', undefined, { authorization: `Bearer ${ofUser}x` }],
    ['GET /tasks', undefined, { authorization: `Basic ${ofUser}` }],
    ['POST /tasks', { worker: 'pull', payload }, { 'if-match': 'x' }],
    ['POST /tasks/batch', { tasks: [{ worker: 'pull', payload, key: '' }] }],
  ];
  for (const [call, body, headers] of misplaced) {
    const answer = await asking(call, body, headers);
    if (answer.status !== 201) t.notMatch(answer.text, payload, call);
  }
  const reads = ['workers', `workers/${push.id}`, `workers/${push.id}/secrets`, `workers/${pull.id}/secrets`];
  for (const path of [...reads, 'users', `users/${user.id}/tokens`, `tasks/${task.id}`, 'tasks', 'limits']) {
    await asking(`GET /${path}`);
  }
  const { text: history } = await asking(`GET /tasks/${task.id}/history`);
  const metrics = String((await service.logged(line => line['name'] === 'metrics'))['address']);
  const pages = [
    getPage(service.debug, '/stats'),
    getPage(service.debug, '/rlconfig'),
    getPage(metrics, '/metrics'),
  ];
  const statistics = (await Promise.all(pages)).map(({ text }) => text);
  t.match(statistics.join(), 'tasks_created_total');
  const log = () => `${service.output}\n${service.logs.map(line => JSON.stringify(line)).join('\n')}`;
  const seen: Readonly<Record<string, string>> = {
    answers: answers.join('\n'),
    history,
    statistics: statistics.join('\n'),
  };
  const foundIn = (text: string, words: readonly string[]) => words.filter(word => text.includes(word));
  for (const [place, text] of Object.entries(seen)) t.same(foundIn(text, secrets), [], `none in ${place}`);
  t.same(foundIn(`${seen['statistics']}${history}`, [payload]), [], 'nor a payload');
  t.same(foundIn(files(), secrets), [], 'none in the files while it runs');
  t.match(files(), payload, 'these are the files');
  await service.terminate();
  t.same(foundIn(files(), secrets), [], 'none in the files afterwards');
  t.same(foundIn(log(), [...secrets, payload]), [], 'none in the log, from start to stop');
}
