import { request as requestOverHttp } from 'node:http';
import type { Test } from 'tap';
import { askOverGrpc, askOverHttp, grpcTo, statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import type { Fronts, Instance } from '../support/proxies/front.ts';
import { type RawAnswer, sendRaw } from '../support/raw-http.ts';
import type { ServiceProcess } from '../support/service.ts';
import {
  ask,
  askForAccount,
  newTenant,
  startTasksService,
  type Tenant,
} from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

/** What runs: Sluice with tasks, and a proxy in front of it. */
interface Scene {
  readonly service: ServiceProcess;
  readonly fronts: Fronts;
}

/** The body of `/json` for a user of the sample rules, who may ask five times a minute. */
function userRequest(user: string) {
  return { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: user }] }] };
}

/** Asks `/json` as a caller of this version of HTTP. */
export function askByRawHttp(address: string, version: '1.0' | '1.1'): Promise<RawAnswer> {
  const body = JSON.stringify(userRequest('old'));
  const fields = `Host: sluice\r\nConnection: close\r\nContent-Length: ${body.length}`;
  return sendRaw(address, `POST /json HTTP/${version}\r\n${fields}\r\n\r\n${body}`);
}

const OPERATOR_TOKEN = 'the-token-of-the-operator-behind-the-proxy';

/** What callers of both services get through a proxy that runs its file of `ops`: the same as without it. */
export async function runProxyExam(
  t: Test,
  startProxy: (t: Test, instances: readonly Instance[]) => Promise<Fronts>,
): Promise<void> {
  const service = await startTasksService(t, {
    TASKS_TENANT_HEADER: 'true',
    RUNTIME_WATCH_ROOT: 'false',
    ACCOUNTS_OPERATOR_TOKEN: OPERATOR_TOKEN,
  });
  const scene = { service, fronts: await startProxy(t, [service]) };
  const front = { http: scene.fronts.tasks };
  t.equal((await askForAccount(front, 'acme')).status, 401, 'whom the proxy serves is not on this machine');
  const tenant = await newTenant(front, 'acme', { authorization: `Bearer ${OPERATOR_TOKEN}` });
  await t.test('decisions over HTTP and gRPC, and their failures', t => decisions(t, scene));
  await t.test('nothing but the paths of its own on each port', t => closedPaths(t, scene));
  await t.test('the console and the documentation of the API', t => pages(t, scene));
  await t.test('tasks, by the host of the tenant, under the id of the caller', t => tasks(t, scene, tenant));
  await t.test('bodies as large as Sluice takes them, and 413 beyond', t => largeBodies(t, scene, tenant));
  await t.test('a pull worker waits for a task', t => longPoll(t, scene, tenant));
  await t.test('a pull worker that goes away while it waits gets none', t => givenUpPoll(t, scene, tenant));
  await t.test('503 as JSON, and UNAVAILABLE, while no instance runs', t => unavailable(t, scene, tenant));
}

async function decisions(t: Test, { fronts }: Scene): Promise<void> {
  const client = grpcTo(t, fronts.grpc);
  const left: unknown[] = [];
  for (let round = 0; round < 2; round++) {
    const { body } = await askOverHttp(fronts.decisions, userRequest('ann'));
    left.push(body.statuses?.[0]['limitRemaining']);
    const { statuses } = await askOverGrpc(client, request('demo', 'user=ann'));
    left.push(statuses[0].limitRemaining);
  }
  t.same(left, [4, 3, 2, 1], 'one counter for both');
  t.match(await askOverHttp(fronts.decisions, userRequest('ann')), { status: 200 });
  t.match(await askOverHttp(fronts.decisions, userRequest('ann')), {
    status: 429,
    body: { overallCode: 'OVER_LIMIT' },
  });
  t.match(await askOverHttp(fronts.decisions, { descriptors: 1 }), {
    status: 400,
    body: { error: { path: 'descriptors' } },
  });
  await t.rejects(askOverGrpc(client, request('')), /status 3: /, 'a status of gRPC is in trailers');
}

async function closedPaths(t: Test, { fronts }: Scene): Promise<void> {
  const host = { host: 'acme.localhost' };
  for (const path of ['/json', '/healthcheck', '/readyz', '/apix'] as const)
    t.match(await ask(fronts.tasks, `GET ${path}`, { headers: host }), { status: 404 }, path);
  for (const path of ['/api/v1/tasks', '/accounts', '/readyz'] as const)
    t.match(await ask(fronts.decisions, `GET ${path}`, { headers: host }), { status: 404 }, path);
}

/** The console and the documentation, which browsers load, and explanations of errors. */
async function pages(t: Test, { fronts }: Scene): Promise<void> {
  const host = 'acme.localhost';
  for (const path of ['/', '/api/docs'] as const) {
    const { text } = await ask(fronts.tasks, `GET ${path}`, { headers: { host, accept: 'text/html' } });
    const [, script] = /<script type="module" src="([^"]+)"/.exec(text) ?? [];
    t.match(await ask(fronts.tasks, `GET ${script as '/'}`, { headers: { host } }), { status: 200 }, path);
  }
  for (const path of ['/errors', '/errors/not_found'] as const)
    t.match(await ask(fronts.tasks, `GET ${path}`, { headers: { host } }), { status: 200 }, path);
}

async function tasks(t: Test, { fronts }: Scene, tenant: Tenant): Promise<void> {
  await tenant.make('workers', { name: 'puller', mode: 'pull' });
  const headers = { 'x-request-id': 'mine-1', 'x-tenant-domain': 'other' };
  const made = await tenant.ask('POST /tasks', { worker: 'puller' }, headers);
  t.match(
    made,
    { status: 201, headers: { 'x-request-id': 'mine-1' } },
    'the header of a caller names no tenant',
  );
  const found = await tenant.ask(`GET /tasks/${made.json.id}`);
  const plain = { host: 'localhost', authorization: `Bearer ${tenant.token}` };
  t.match(
    await ask(fronts.tasks, `GET /api/v1/tasks/${made.json.id}`, { headers: plain }),
    { status: 200 },
    'at the host of the service, the token names the tenant',
  );
  t.match(found, { status: 200, headers: { 'x-request-id': /^[\w-]{16,}$/ } });
  t.match(await tenant.ask('GET /tasks/tsk_none'), { status: 404, json: { code: 'not_found' } });
  t.match(await tenant.ask(`DELETE /tasks/${made.json.id}`), { status: 204, text: '' });
  const operator = { host: 'accounts.localhost', authorization: `Bearer ${OPERATOR_TOKEN}` };
  const account = { body: { domain: 'beta' }, headers: operator };
  t.match(await ask(fronts.tasks, 'POST /', account), { status: 201 });
  t.match(await ask(fronts.tasks, 'POST /', account), { status: 409, json: { code: 'domain_taken' } });
}

async function largeBodies(t: Test, { fronts }: Scene, tenant: Tenant): Promise<void> {
  const payload = 'x'.repeat(260_000);
  const batch = (count: number) => Array.from({ length: count }, () => ({ worker: 'puller', payload }));
  const run_at = '2100-01-01T00:00:00Z';
  const put = batch(20).map(task => ({ ...task, run_at }));
  const made = await tenant.ask('POST /tasks/batch', { tasks: put });
  t.match(made, { status: 200 }, '5.2 MB');
  // Sluice does not take in such a body of a stranger. Its answer reaches the caller although that is still sending.
  const strange = { authorization: 'Bearer tk_unknown' };
  t.match(await tenant.ask('POST /tasks/batch', { tasks: put }, strange), {
    status: 401,
    json: { code: 'invalid_token' },
  });
  t.match(await tenant.ask('POST /tasks/batch', { tasks: batch(25) }), {
    status: 413,
    headers: { 'content-type': 'application/problem+json' },
    json: { code: 'body_too_large' },
  });
  const many = Array.from({ length: 2000 }, () => ({ worker: 'puller' }));
  t.match(await tenant.ask('POST /tasks/batch', { tasks: many }), {
    status: 413,
    json: { code: 'batch_too_large' },
  });
  const entries = [{ key: 'user', value: 'ann' }];
  const descriptors = Array.from({ length: 4097 }, () => ({ entries }));
  t.match(await askOverHttp(fronts.decisions, { domain: 'demo', descriptors }), {
    status: 413,
    body: { error: { code: 'too_large' } },
  });
}

async function longPoll(t: Test, { service }: Scene, tenant: Tenant): Promise<void> {
  await tenant.make('workers', { name: 'waiting', mode: 'pull' });
  const claims = await claimsOf(service);
  const poll = tenant.ask('POST /workers/waiting/leases', { wait: '30s' });
  await until(async () => (await claimsOf(service)) > claims);
  const { id } = await tenant.make('tasks', { worker: 'waiting' });
  const { status, json } = await poll;
  t.equal(status, 200);
  t.equal(json.leases[0].task.id, id);
}

async function givenUpPoll(t: Test, { service, fronts }: Scene, tenant: Tenant): Promise<void> {
  await tenant.make('workers', { name: 'leaving', mode: 'pull' });
  const claims = await claimsOf(service);
  const [host, port] = fronts.tasks.split(':');
  const poll = requestOverHttp({
    ...{ host, port, method: 'POST', path: '/api/v1/workers/leaving/leases', agent: false },
    headers: {
      ...{
        host: 'acme.localhost',
        authorization: `Bearer ${tenant.token}`,
        'content-type': 'application/json',
      },
    },
  });
  poll.on('error', () => {});
  poll.end('{"wait":"30s"}');
  await until(async () => (await claimsOf(service)) > claims);
  const answered = await statistic(service.debug, LEASES_ANSWERED);
  poll.destroy();
  await until(async () => (await statistic(service.debug, LEASES_ANSWERED)) > answered);
  const { id } = await tenant.make('tasks', { worker: 'leaving' });
  const { json } = await tenant.ask('POST /workers/leaving/leases', {});
  t.equal(json.leases[0].task.id, id);
}

async function unavailable(t: Test, { service, fronts }: Scene, tenant: Tenant): Promise<void> {
  const client = grpcTo(t, fronts.grpc);
  await service.terminate();
  t.match(await tenant.ask('GET /tasks'), {
    status: 503,
    headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
    json: { code: 'store_unavailable' },
  });
  t.match(await askOverHttp(fronts.decisions, userRequest('ann')), {
    status: 503,
    body: { error: { code: 'overloaded' } },
  });
  await t.rejects(askOverGrpc(client, request('demo', 'user=ann')), /status 14: /);
}

/** Each poll asks the store before it waits. */
function claimsOf(service: ServiceProcess): Promise<number> {
  return statistic(service.debug, 'tasks.store_op.claim.count');
}

/** A poll whose caller has gone is over as well. */
const LEASES_ANSWERED = 'tasks.http_requests.leaseTasks.200';
