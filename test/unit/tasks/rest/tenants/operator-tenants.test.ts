import { Fault } from '../../../../../src/base/fault.ts';
import { placeOfCount, usageStart } from '../../../../../src/tasks/model/usage.ts';
import type { RestRequest } from '../../../../../src/tasks/rest/http/http.ts';
import type { TenantAsk, TenantListAsk } from '../../../../../src/tasks/rest/http/tenant-ask.ts';
import { each } from '../../../../support/each.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const LIST: TenantListAsk = { kind: 'list', q: '', status: null, sort: 'domain', offset: 0, count: 50 };

/** A service that several tenants use: `acme` has tasks in all statuses, `globex` one that is due for long. */
async function open() {
  const rest = await TaskHarness.open();
  for (const domain of ['globex', 'initech']) await rest.signUp(domain);
  const ask = async (asked: TenantAsk) => {
    const request: RestRequest = {
      ...{ method: 'GET', host: '', path: '', query: '', headers: {}, remoteAddress: '' },
      body: new Uint8Array(0),
      gone: new AbortController().signal,
      tenantAsk: asked,
    };
    const { status, body } = await rest.service.handle(request);
    return { status, json: JSON.parse(body), body };
  };
  const list = async (asked: Partial<TenantListAsk> = {}) => (await ask({ ...LIST, ...asked })).json;
  const domains = async (asked: Partial<TenantListAsk>) =>
    (await list(asked)).tenants.map(({ domain }: { domain: string }) => domain);
  return { rest, ask, list, domains };
}

async function fill(rest: TaskHarness): Promise<void> {
  const worker = await rest.pushWorker();
  for (const status of ['running', 'retry', 'paused', 'succeeded', 'failed', 'scheduled'])
    await rest.taskIn(status, worker);
  const { factory, store, clock } = rest;
  const other = factory.worker();
  await store.apply('globex', [other]);
  await store.create(
    'globex',
    factory.createRequest([factory.newTask(other, { runAt: clock.nowMs() - 60_000 })]),
  );
}

test('tenants are listed with their figures', async ({ rest, list }, t) => {
  await fill(rest);
  const { tenants, total, ordered_at, time } = await list();
  t.equal(total, 3);
  t.equal(ordered_at, new Date(rest.clock.nowMs()).toISOString());
  t.equal(time, new Date(rest.clock.nowMs()).toISOString());
  t.match(tenants[0], {
    domain: 'acme',
    status: 'active',
    suspended: null,
    tasks: { running: 1, retry: 1, paused: 1, succeeded: 1, failed: 1, scheduled: 1, canceled: 0 },
    stored: 6,
    workers: 1,
    in_flight: 1,
    due: 1,
  });
  t.match(tenants[1], {
    domain: 'globex',
    due: 1,
    oldest_due_at: new Date(rest.clock.nowMs() - 60_000).toISOString(),
  });
  t.match(tenants[2], { domain: 'initech', stored: 0, due: 0, oldest_due_at: null });
});

test('names are read once a second, and a list says what it leaves out', async ({ rest, list }, t) => {
  const named = (number: number) => `t${String(number).padStart(6, '0')}`;
  const store = { tenants: 99_999, questions: 0 };
  rest.store.tenants = async (after, limit) => {
    store.questions++;
    const first = after === null ? 0 : Number(after.slice(1)) + 1;
    return Array.from({ length: Math.min(limit, store.tenants - first) }, (_, i) => named(first + i));
  };
  t.match(await list({ count: 0 }), { total: 99_999, cut_at: null });
  t.match(await list({ count: 0, q: '99999' }), { total: 0, cut_at: null });
  t.equal(store.questions, 100);
  store.tenants = 100_001;
  t.match(await list({ count: 0 }), { total: 99_999 }, 'for a second');
  rest.clock.advance(1_000);
  t.match(await list({ count: 0 }), { total: 100_000, cut_at: 100_000 });
});

test('what a tenant does is shown per second, and for each minute', async ({ rest, ask, list }, t) => {
  const [created, succeeded, failed] = (['created', 'succeeded', 'failed'] as const).map(placeOfCount);
  const add = (minutesAgo: number, figures: readonly number[]) =>
    rest.store.addUsage('acme', [{ at: rest.clock.nowMs() - minutesAgo * 60_000, workerId: null, figures }]);
  rest.clock.moveTo(usageStart('minute', rest.clock.nowMs()) + 30_000);
  await add(19, [succeeded, 5]);
  await add(1, [created, 90, succeeded, 30, failed, 9]);
  await add(0, [created, 45, succeeded, 6]);
  const { per_second, ended_spark } = (await list()).tenants[0];
  t.same(per_second, { created: 1.5, ended: 0.5, failed: 0.1 });
  t.same([ended_spark[0], ...ended_spark.slice(-2)], [5, 39, 6]);
  t.equal(ended_spark.length, 20);
  t.match((await ask({ kind: 'read', domain: 'globex' })).json, {
    per_second: { created: 0, ended: 0, failed: 0 },
  });
});

test('they are found by domain and status, sorted, in pages', async ({ rest, ask, list, domains }, t) => {
  await fill(rest);
  t.same(await domains({ q: 'e' }), ['acme', 'globex', 'initech']);
  t.same(await domains({ q: 'lob' }), ['globex']);
  t.same(await domains({ offset: 1, count: 1 }), ['globex']);
  t.match(await list({ offset: 9 }), { total: 3, tenants: [] });
  t.same(await domains({ sort: 'oldest_due' }), ['globex', 'acme', 'initech']);
  t.same(await domains({ sort: 'stored' }), ['acme', 'globex', 'initech']);
  t.same(await domains({ sort: 'failed', offset: 1 }), ['globex', 'initech'], 'equal ones by domain');
  await ask({ kind: 'change', domain: 'initech', status: 'suspended', reason: 'ticket 1' });
  t.same(await domains({ status: 'suspended' }), ['initech'], 'a change is seen at once');
  t.match(await list({ status: 'active', sort: 'workers' }), {
    total: 2,
    ordered_at: new Date(rest.clock.nowMs()).toISOString(),
  });
});

test('the order may be seconds old, the figures are not', async ({ rest, list, domains }, t) => {
  t.same(await domains({ sort: 'stored' }), ['acme', 'globex', 'initech']);
  await fill(rest);
  const { store, factory } = rest;
  const worker = factory.worker();
  await store.apply('initech', [worker]);
  await store.create(
    'initech',
    factory.createRequest(Array.from({ length: 9 }, () => factory.newTask(worker))),
  );
  const before = await list({ sort: 'stored' });
  t.same(each(before.tenants, 'stored'), [6, 1, 9]);
  rest.clock.advance(1_000);
  t.same(await domains({ sort: 'stored' }), ['initech', 'acme', 'globex']);
});

test('while figures are read for long, a list uses the last order', async ({ rest, ask, domains }, t) => {
  const { tenants } = rest.store;
  const held: (() => void)[] = [];
  rest.store.tenants = async (after, limit) => {
    await new Promise<void>(go => held.push(go));
    return tenants.call(rest.store, after, limit);
  };
  const wait = async () => {
    while (held.length === 0) await new Promise(setImmediate);
  };
  const first = ask({ ...LIST, sort: 'due' });
  await wait();
  rest.clock.advance(3_000);
  t.match(await first, problem('overloaded', { detail: /still being read/ }));
  const second = ask({ ...LIST, sort: 'due' });
  held.pop()?.();
  t.match(await second, { status: 200 }, 'the same reading goes on');
  rest.clock.advance(60_000);
  const third = domains({ sort: 'due' });
  await wait();
  rest.clock.advance(3_000);
  t.same(await third, ['acme', 'globex', 'initech']);
  held.pop()?.();
});

test('a change while all tenants are read is in the next list', async ({ rest, ask, domains }, t) => {
  const { counts } = rest.store;
  const [reading, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  rest.store.counts = async (...args) => {
    reading.resolve();
    await changed.promise;
    return counts.apply(rest.store, args);
  };
  const first = domains({ status: 'suspended' });
  await reading.promise;
  // By now the accounts are read.
  await new Promise(setImmediate);
  rest.store.counts = counts;
  await ask({ kind: 'change', domain: 'initech', status: 'suspended', reason: 'ticket 1' });
  changed.resolve();
  t.same(await first, []);
  t.same(await domains({ status: 'suspended' }), ['initech']);
});

test('tenants without an answer of the store are named', async ({ rest, ask, list }, t) => {
  const { counts } = rest.store;
  rest.store.counts = async (tenant, workerId) => {
    if (tenant !== 'acme') throw new Fault('store_failed', 'no answer in time');
    return counts.call(rest.store, tenant, workerId);
  };
  t.match(await list(), { tenants: [{ domain: 'acme' }], unreadable: ['globex', 'initech'] });
  t.match(await list({ sort: 'due' }), { total: 1, tenants: [{ domain: 'acme' }], unreadable: [] });
  rest.store.counts = () => Promise.reject(new Fault('store_failed', 'all are away'));
  rest.clock.advance(60_000);
  for (const sort of ['domain', 'due'] as const)
    t.match(await ask({ ...LIST, sort }), problem('store_unavailable'));
});

test('a tenant is shown with its limits, its use and its owners', async ({ rest, ask }, t) => {
  await fill(rest);
  t.match((await ask({ kind: 'read', domain: 'acme' })).json, {
    domain: 'acme',
    owners: 1,
    limits: { in_flight: 200 },
    changed_limits: [],
    use: { open_tasks: 4, users: 1 },
    deletion: null,
    due: 1,
    stored: 6,
  });
  for (const domain of ['nobody', '.service', 'a}b', '', 'A'.repeat(5_000)]) {
    const answer = await ask({ kind: 'read', domain });
    t.match(answer, problem('tenant_not_found'), domain);
  }
});

test('a suspension has a time, a reason for operators, and is audited', async ({ rest, ask }, t) => {
  const change = (status: 'active' | 'suspended', reason: string) =>
    ask({ kind: 'change', domain: 'acme', status, reason });
  const since = new Date(rest.clock.nowMs()).toISOString();
  t.match(await change('suspended', 'spam'), {
    status: 200,
    json: { status: 'suspended', suspended: { since, reason: 'spam' } },
  });
  rest.clock.advance(1_000);
  t.match((await change('suspended', 'fraud')).json, { suspended: { since, reason: 'fraud' } });
  t.match((await ask({ kind: 'change', domain: 'acme', limits: { workers: 3 }, reason: 'x' })).json, {
    limits: { workers: 3 },
    suspended: { since, reason: 'fraud' },
  });
  t.equal(
    (await rest.at('POST', 'users', { email: 'a@b.test', role: 'member' })).json.code,
    'tenant_suspended',
  );
  t.match((await change('active', 'resolved')).json, { status: 'active', suspended: null });
  const audit = await rest.at('GET', 'audit');
  t.same(each(audit.json.data.slice(0, 3), 'action'), [
    'account.resumed',
    'account.limits_changed',
    'account.suspended',
  ]);
  t.notMatch(audit.body, /spam|fraud|resolved/);
  t.equal((await change('active', 'again')).status, 200);
});

test('a limit that cannot be is refused, with its place', async ({ ask }, t) => {
  const answer = await ask({ kind: 'change', domain: 'acme', limits: { retain_other: '1m' }, reason: 'x' });
  t.match(answer, { status: 422, json: { errors: [{ pointer: '/limits/retain_other' }] } });
});

test('an owner gets a new token, which no log has', async ({ rest, ask }, t) => {
  const { status, json } = await ask({ kind: 'owner_token', domain: 'acme' });
  t.match({ status, json }, { status: 201, json: { token: /^tk_acme_/, user_id: /^usr_/ } });
  t.match((await rest.at('GET', 'me', undefined, { token: json.token })).status, 200);
  t.notMatch(JSON.stringify(rest.logger.lines), json.token);
  const [entry] = (await rest.read('audit')).data;
  t.match(entry, { action: 'account.owner_token_created', target_id: json.id });
  await rest.change('acme', 'user', json.user_id, user => ({ ...user, status: 'disabled' }));
  t.match(await ask({ kind: 'owner_token', domain: 'acme' }), problem('not_found'));
});
