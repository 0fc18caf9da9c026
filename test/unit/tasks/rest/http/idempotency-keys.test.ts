import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import type { Route } from '../../../../../src/tasks/rest/http/route.ts';
import { each } from '../../../../support/each.ts';
import { type Answered, type Asked, problem } from '../../../../support/tasks/rest-harness.ts';
import { type Belongings, pathOf, TwoTenants } from '../../../../support/tasks/two-tenants.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TwoTenants.open());

/** For each POST: a body that succeeds, and another one. */
const BODIES: Readonly<Record<string, (ids: Belongings) => readonly [unknown, unknown]>> = {
  createTask: ({ worker }) => [{ worker, payload: { a: 1 } }, { worker }],
  createTasks: ({ worker }) => [
    { tasks: [{ worker }, { worker: 'nobody' }] },
    { tasks: [{ worker }], atomic: true },
  ],
  actOnTasks: ({ task }) => [
    { action: 'pause', ids: [task] },
    { action: 'cancel', ids: [task] },
  ],
  cancelTask: () => [undefined, {}],
  retryTask: () => [undefined, {}],
  runTask: () => [undefined, {}],
  pauseTask: () => [undefined, {}],
  resumeTask: () => [undefined, {}],
  createWorker: () => [{ name: 'new' }, { name: 'newer' }],
  createSecret: () => [{ type: 'token' }, { type: 'signing' }],
  createUser: () => [{ email: 'new@x.test' }, { email: 'newer@x.test' }],
  createToken: () => [{ name: 'one' }, { name: 'two' }],
  createSchedule: ({ worker }) => [
    { name: 'new', worker, every: '1h', task: { payload: { a: 'x'.repeat(60_000) } } },
    { name: 'newer', worker, every: '1h' },
  ],
  triggerSchedule: () => [undefined, {}],
  leaseTasks: () => [{ max: 2 }, { max: 3 }],
  heartbeatLease: () => [{ progress: 10 }, { progress: 20 }],
  completeLease: () => [{ result: 1 }, { result: 2 }],
  failLease: () => [{ error: { code: 'a', message: 'a' } }, { error: { code: 'b', message: 'b' } }],
  releaseLease: () => [{ delay: 1 }, { delay: 2 }],
  settleLeases: ({ lease }) => [
    { outcomes: [{ lease_id: lease, outcome: 'complete' }] },
    { outcomes: [{ lease_id: lease, outcome: 'release' }] },
  ],
};

/** Members that only the first answer has. */
const ONCE: Readonly<Record<string, string>> = { createSecret: 'value', createToken: 'token' };

/** They store nothing, so that a repeated call is made again. */
const STORELESS = ['previewSchedule', 'testWorker'];

async function posts(): Promise<readonly Route[]> {
  return (await TwoTenants.open()).rest.routes.filter(({ method }) => method === 'POST');
}

t.test('each POST that stores something has a case', async t => {
  const cases = [...Object.keys(BODIES), ...STORELESS];
  t.same((await posts()).map(({ operation }) => operation).sort(), cases.sort());
});

for (const [operation, bodies] of Object.entries(BODIES)) {
  t.test(`${operation}: the same key is the same answer, and another body is refused`, async t => {
    const tenants = await TwoTenants.open();
    const { mine, rest } = tenants;
    const route = rest.routes.find(one => one.operation === operation)!;
    const [body, other] = bodies(mine);
    if (operation === 'retryTask') await tenants.ask('POST', `/v1/tasks/${mine.task}/cancel`);
    if (operation === 'resumeTask') await tenants.ask('POST', `/v1/tasks/${mine.task}/pause`);
    const ask = (sent: unknown, asked: Asked = {}): Promise<Answered> => {
      const headers = { 'idempotency-key': 'k-1' };
      return tenants.ask('POST', pathOf(route, mine), { body: sent, headers, ...asked });
    };
    const first = await ask(body);
    t.ok(first.status < 300, `${first.status} ${first.body}`);
    t.equal(first.headers['Idempotency-Replayed'], undefined);
    rest.clock.advance(1_500);
    const again = await ask(body);
    t.equal(again.headers['Idempotency-Replayed'], 'true');
    for (const name of ['ETag', 'Location']) t.equal(again.headers[name], first.headers[name], name);
    t.equal(again.status, first.status);
    const once = ONCE[operation];
    t.same(again.json, once === undefined ? first.json : { ...first.json, [once]: null });
    const reused = await ask(other);
    t.match(reused, problem('idempotency_key_reused'));
    const narrow = await rest.addUser(mine.token, 'owner');
    const stranger = await ask(body, { token: narrow.token });
    t.equal(stranger.headers['Idempotency-Replayed'], undefined, 'a key belongs to its token');
  });
}

test('a key belongs to its path, and to its query', async (tenants, t) => {
  const { mine } = tenants;
  const headers = { 'idempotency-key': 'k' };
  const ask = (target: string, body?: object) =>
    tenants.ask('POST', target, { headers, ...(body && { body }) });
  t.equal((await ask('/v1/tasks', { worker: mine.worker })).status, 201);
  t.equal((await ask(`/v1/tasks/${mine.task}/pause`)).status, 200);
  t.equal((await ask(`/v1/tasks/${mine.task}/resume`)).status, 200);
  t.equal((await ask('/v1/workers', { name: 'new' })).status, 201);
});

test('GET, PUT, PATCH and DELETE take no notice of a key', async (tenants, t) => {
  const headers = { 'idempotency-key': 'k' };
  for (const [type, method] of [['a', 'PUT'] as const, ['b', 'PUT'] as const, ['c', 'PATCH'] as const]) {
    const answer = await tenants.ask(method, `/v1/tasks/${tenants.mine.task}`, { body: { type }, headers });
    t.equal(answer.json.type, type);
  }
  t.equal((await tenants.ask('DELETE', `/v1/tasks/${tenants.mine.task}`, { headers })).status, 204);
  t.equal((await tenants.ask('GET', `/v1/tasks/${tenants.mine.task}`, { headers })).status, 404);
});

test('a request that is refused, or fails, leaves its key free', async (tenants, t) => {
  const headers = { 'idempotency-key': 'k' };
  const make = (worker: string) => tenants.ask('POST', '/v1/tasks', { body: { worker }, headers });
  t.equal((await make('nobody')).status, 422);
  const { create } = tenants.rest.store;
  tenants.rest.store.create = () => Promise.reject(new Fault('store_failed', 'the disk is full'));
  t.equal((await make(tenants.mine.worker)).status, 503);
  tenants.rest.store.create = create;
  t.equal((await make(tenants.mine.worker)).status, 201);
});

test('keys have 1 to 255 printable characters', async (tenants, t) => {
  const make = (key: string) => {
    const headers = { 'idempotency-key': key };
    return tenants.ask('POST', '/v1/tasks', { body: { worker: tenants.mine.worker }, headers });
  };
  for (const key of ['k', 'x'.repeat(255), ' ', '~!@#$%^&*()', '__proto__']) {
    t.equal((await make(key)).status, 201, key);
    t.equal((await make(key)).headers['Idempotency-Replayed'], 'true', key);
  }
  for (const key of ['', 'x'.repeat(256), 'a\tb', 'a\nb', 'é', '\u0000']) {
    const errors = [{ parameter: 'Idempotency-Key' }];
    t.match((await make(key)).json, { code: 'invalid_parameter', errors }, JSON.stringify(key));
  }
});

test('after a day a key is new', async (tenants, t) => {
  const headers = { 'idempotency-key': 'k' };
  const make = (type: string) =>
    tenants.ask('POST', '/v1/tasks', { body: { worker: tenants.mine.worker, type }, headers });
  const { json } = await make('a');
  tenants.rest.clock.advance(86_399_000);
  t.match(await make('a'), { json: { id: json.id } });
  tenants.rest.clock.advance(2_000);
  t.match(await make('b'), { status: 201, json: { type: 'b' } });
});

t.test('whatever has become of a task, its creation is answered as the first time', async t => {
  const becoming: Readonly<Record<string, (tenants: TwoTenants, id: string) => Promise<unknown>>> = {
    changed: ({ ask }, id) => ask('PUT', `/v1/tasks/${id}`, { body: { type: 'x', payload: 2 } }),
    canceled: ({ ask }, id) => ask('POST', `/v1/tasks/${id}/cancel`),
    started: ({ rest, mine }) => rest.start(mine.worker, 10),
    removed: ({ ask }, id) => ask('DELETE', `/v1/tasks/${id}`),
  };
  for (const [name, become] of Object.entries(becoming)) {
    const tenants = await TwoTenants.open();
    tenants.ask = tenants.ask.bind(tenants);
    const body = { worker: tenants.mine.worker, type: 'first', payload: { a: 1 } };
    const make = () => tenants.ask('POST', '/v1/tasks', { body, headers: { 'idempotency-key': 'k' } });
    const first = await make();
    await become(tenants, first.json.id);
    const again = await make();
    t.equal(again.status, 201, name);
    t.equal(again.headers['Location'], first.headers['Location']);
    t.same(again.json, first.json, name);
  }
});

test('whatever has become of the place, what was made there is answered as the first time', async (tenants, t) => {
  const { mine, rest } = tenants;
  const asked = { headers: { 'idempotency-key': 'k' } };
  const soon = new Date(rest.clock.nowMs() + 60_000).toISOString();
  const requests: [string, object][] = [
    ['/v1/tasks', { worker: mine.worker }],
    ['/v1/workers', { name: 'short', paused: true, resume_at: soon }],
    [`/v1/workers/${mine.puller}/secrets`, {}],
    [`/v1/users/${mine.user}/tokens`, { expires_at: soon }],
    ['/v1/schedules', { name: 'short', worker: mine.worker, every: '1h', paused: true, resume_at: soon }],
    [`/v1/schedules/${mine.schedule}/trigger`, {}],
  ];
  const ask = ([target, body]: [string, object]) => tenants.ask('POST', target, { body, ...asked });
  const first = [];
  for (const request of requests) first.push(await ask(request));
  t.same(
    each(first, 'status'),
    requests.map(() => 201),
  );
  rest.clock.advance(3_600_000);
  await tenants.ask('DELETE', `/v1/workers/${mine.worker}?cancel_tasks=true`);
  await rest.change('acme', 'account', 'account', body => ({
    ...body,
    limits: { openTasks: 0, workers: 0, tokensPerUser: 0, schedules: 0 },
  }));
  for (const [i, request] of requests.entries()) {
    const again = await ask(request);
    t.equal(again.headers['Idempotency-Replayed'], 'true', `${request[0]} ${again.body}`);
    t.equal(again.json.id, first[i].json.id, request[0]);
  }
});
