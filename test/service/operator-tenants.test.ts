import t, { type Test } from 'tap';
import { ruleSettings } from '../support/exactness/setup.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { serviceFor } from '../support/service.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { ask as askAt, newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { type Run, runIn } from '../unit/cli/run.ts';

async function redisSettings(t: Test): Promise<Record<string, string>> {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  return { TASKS_STORE: 'redis', TASKS_REDIS_URL: `127.0.0.1:${redis.port}` };
}

type Operated = Awaited<ReturnType<typeof operated>>;

/** The operator's API of a service with tenants, and its command line. */
async function operated(t: Test, settings: Readonly<Record<string, string>>) {
  const service = await startTasksService(t, { ADMIN_TOKEN, ...settings });
  const acme = await newTenant(service, 'acme');
  await newTenant(service, 'globex');
  const send = async (
    call: `${'GET' | 'POST' | 'PUT'} /${string}`,
    body?: unknown,
    token: string = ADMIN_TOKEN,
  ) => {
    const [method, path] = call.split(' ');
    const headers = { host: service.debug, authorization: `Bearer ${token}` };
    return askAt(service.debug, `${method as 'GET'} /api/v1${path}`, { body, headers });
  };
  const sluice = (...args: string[]): Promise<Run> =>
    runIn({ ADMIN_TOKEN }, 'tenants', ...args, '--debug-address', service.debug);
  return { service, acme, send, sluice };
}

for (const [store, settings] of [
  ['SQLite', async () => ({})],
  ['Redis', redisSettings],
] as const) {
  t.test(`an operator sees and changes tenants in ${store}`, async t => {
    const scene = await operated(t, await settings(t));
    const { service, acme, send, sluice } = scene;
    if (store === 'SQLite')
      await t.test('changes need the token, a reason and a tenant', t => refusals(t, scene));
    await acme.make('workers', { name: 'crawler' });
    await acme.make('tasks/batch', {
      tasks: [{ worker: 'crawler' }, { worker: 'crawler', delay: '1h' }],
    });

    const { json } = await send('GET /tenants?sort=oldest_due');
    t.equal(json.total, 2);
    t.match(json.tenants[0], { domain: 'acme', stored: 2, due: 1, workers: 1, in_flight: 0 });
    t.match(json.tenants[1], { domain: 'globex', oldest_due_at: null });
    t.match((await send('GET /tenants?q=GLOB')).json.tenants, [{ domain: 'globex' }]);

    const suspended = await send('POST /tenants/acme/suspend', { reason: 'ticket 4711' });
    t.match(suspended.json, { status: 'suspended', suspended: { reason: 'ticket 4711' }, due: 1 });
    t.match((await acme.ask('POST /tasks', { worker: 'crawler' })).json, { code: 'tenant_suspended' });
    t.match((await send('GET /tenants?status=suspended')).json.tenants, [{ domain: 'acme' }]);
    const shown = await sluice('list', '--status', 'suspended');
    t.match(shown, {
      status: 0,
      stdout: /^DOMAIN +STATUS +DUE .*\nacme +suspended +1 +\d+s +2 +0 +0 +2 +1\n$/,
    });

    t.match(await sluice('resume', 'acme', '--reason', 'paid'), { status: 0, stdout: 'acme is active\n' });
    t.equal((await acme.ask('POST /tasks', { worker: 'crawler' })).status, 201);
    t.match((await send('PUT /tenants/acme/limits', { limits: { workers: 1 }, reason: 'x' })).json.limits, {
      workers: 1,
    });
    t.match((await acme.ask('POST /workers', { name: 'two' })).json, { code: 'quota_exceeded' });

    const made = await send('POST /tenants/acme/owner-token', { reason: 'lost' });
    t.match(made, { status: 201, json: { token: /^tk_acme_/ } });
    const { json: audit } = await acme.withToken(made.json.token).ask('GET /audit');
    t.same(
      audit.data
        .slice(0, 4)
        .map(({ action, actor }: { action: string; actor: { id: string } }) => [action, actor.id]),
      ['owner_token_created', 'limits_changed', 'resumed', 'suspended'].map(name => [
        `account.${name}`,
        'operator',
      ]),
    );
    const json2 = JSON.parse((await sluice('owner-token', 'acme', '--reason', 'lost', '--json')).stdout);
    t.equal((await acme.withToken(json2.token).ask('GET /me')).status, 200);

    await service.terminate();
    const lines = service.logs.filter(line => line['@message'] === 'Operator change');
    t.match(lines[0], {
      operation: 'suspendTenant',
      tenant: 'acme',
      reason: 'ticket 4711',
      by: /^token [0-9a-f]{8} from /,
    });
    t.match(lines[3], { operation: 'createOwnerToken', tenant: 'acme', token_id: made.json.id });
    t.notMatch(service.output, /tk_acme_/);
  });
}

async function refusals(t: Test, { acme, send, sluice }: Operated): Promise<void> {
  for (const call of ['POST /tenants/acme/suspend', 'POST /tenants/acme/owner-token'] as const) {
    t.match(await send(call, { reason: 'x' }, 'another-token'), {
      status: 401,
      json: { code: 'invalid_token' },
    });
    t.match(
      await send(call, { reason: 'x' }, acme.token),
      { status: 401 },
      'the token of an owner is no operator',
    );
    for (const body of [{}, { reason: '' }, { reason: '  ' }, { reason: 5 }, { reason: 'x'.repeat(501) }])
      t.equal((await send(call, body)).status, 422, JSON.stringify(body));
  }
  for (const domain of ['nobody', '.service', '%2e%2e', 'a%7Db', '%ff', 'accounts'])
    t.equal((await send(`POST /tenants/${domain}/suspend`, { reason: 'x' })).status, 404, domain);
  for (const query of [
    'sort=size',
    'count=101',
    'count=0',
    'offset=-1',
    'status=closed',
    'page=2',
    `q=${'x'.repeat(65)}`,
  ])
    t.match(await send(`GET /tenants?${query}`), { status: 400, json: { code: 'invalid_parameter' } }, query);
  t.match(await sluice('suspend', 'acme'), { status: 2, stderr: '--reason is missing' });
  t.match(await sluice('list', 'acme'), { status: 2, stderr: 'unexpected argument' });
  t.match(await sluice('close', 'acme'), { status: 2, stderr: 'say what to do' });
}

t.test('a process without tasks says so', async t => {
  const none = await serviceFor(t, { env: { ...ruleSettings(t), ADMIN_TOKEN } });
  for (const path of ['/tenants', '/tenants/acme'] as const) {
    const answer = await askAt(none.debug, `GET /api/v1${path}`, { headers: { host: none.debug } });
    t.match(answer, { status: 501, json: { code: 'tasks_disabled', detail: /TASKS_ENABLED=true/ } });
  }
});
