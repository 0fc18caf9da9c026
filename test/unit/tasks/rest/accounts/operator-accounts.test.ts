import { DAY_MS } from '../../../../../src/base/clock.ts';
import { deleteSome } from '../../../../../src/tasks/scheduler/upkeep/deletions.ts';
import type { StoredDocument } from '../../../../../src/tasks/store/documents.ts';
import { taskQuery } from '../../../../support/tasks/factories.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const OPERATOR = { token: 'of the operator', host: 'tasks.test' };

async function open(): Promise<TaskHarness> {
  const rest = new TaskHarness({ operatorToken: OPERATOR.token });
  rest.token = (await rest.signUp()).token;
  return rest;
}

/** Does what is due, as the service does several times a second. */
async function goOn(rest: TaskHarness): Promise<void> {
  for (let look = 0; look < 100; look++) {
    const due = (await rest.store.dueDocuments(100)).filter(({ document }) => document.kind === 'account');
    if (due.length === 0) return;
    for (const { tenant, document } of due) {
      await deleteSome(
        { store: rest.store, signals: rest.parts.signals },
        tenant,
        document as StoredDocument<'account'>,
      );
    }
  }
}

test('only the operator manages accounts, however accounts can be created', async (rest, t) => {
  const calls = [
    ['GET', '/accounts'],
    ['GET', '/accounts/acme'],
    ['PATCH', '/accounts/acme'],
    ['DELETE', '/accounts/acme'],
    ['POST', '/accounts/acme/owner-token'],
  ];
  for (const [method, path] of calls) {
    for (const [token, code] of [
      [undefined, 'authentication_required'],
      [rest.token, 'invalid_token'],
      ['', 'invalid_token'],
    ] as const) {
      const answer = await rest.ask(method, path, { host: 'tasks.test', ...(token && { token }) });
      t.match(answer.status, 401, `${method} ${path} ${code}`);
    }
  }
  const none = await TaskHarness.open();
  const answer = await none.ask('GET', '/accounts', { host: 'tasks.test', token: 'x' });
  t.equal(answer.json.code, 'invalid_token', 'without an operator token, no token is accepted');
});

test('the limits of calls count the operator apart from callers with wrong tokens', async (rest, t) => {
  rest.limits.calls.length = 0;
  const wrong = { ...OPERATOR, token: 'wrong' };
  for (const asked of [OPERATOR, wrong]) {
    await rest.ask('GET', '/accounts', asked);
    await rest.ask('POST', '/accounts', { ...asked, body: { domain: 'zebra' } });
  }
  t.same(
    rest.limits.calls.map(({ tenant, kind, user }) => `${tenant} ${kind} ${user}`),
    ['accounts read operator', 'accounts write operator', 'accounts read ', 'accounts write '],
  );
});

test('accounts are listed by domain, page by page, on both hosts', async (rest, t) => {
  for (const domain of ['zebra', 'beta', 'gamma']) await rest.signUp(domain);
  const first = await rest.ask('GET', '/accounts?limit=3', OPERATOR);
  const domains = (json: { data: { domain: string }[] }) => json.data.map(({ domain }) => domain);
  t.same(domains(first.json), ['acme', 'beta', 'gamma']);
  const at = { ...OPERATOR, host: 'accounts.tasks.test' };
  const second = await rest.ask('GET', `/?limit=3&cursor=${first.json.next_cursor}`, at);
  t.same([domains(second.json), second.json.next_cursor], [['zebra'], null]);
});

test('an account is shown with its limits and use', async (rest, t) => {
  await rest.pushWorker();
  await rest.task();
  const { json } = await rest.ask('GET', '/accounts/acme', OPERATOR);
  t.match(json, {
    domain: 'acme',
    status: 'active',
    owners: 1,
    limits: { in_flight: 200 },
    changed_limits: [],
    use: { open_tasks: 1, workers: 1, users: 1 },
    deletion: null,
  });
  for (const domain of ['nobody', '%00', 'a%00b', '.service']) {
    t.equal((await rest.ask('GET', `/accounts/${domain}`, OPERATOR)).json.code, 'tenant_not_found', domain);
  }
});

test('a suspended account is read only until it is resumed', async (rest, t) => {
  await rest.pushWorker();
  const { id } = (await rest.read('workers')).data[0];
  const set = (status: string) => rest.ask('PATCH', '/accounts/acme', { ...OPERATOR, body: { status } });
  t.match(await set('suspended'), { status: 200, json: { status: 'suspended' } });
  t.equal((await rest.at('GET', 'workers')).status, 200);
  t.match(await rest.at('POST', 'tasks', { worker: 'mailer' }), problem('tenant_suspended'));
  t.equal((await set('active')).status, 200);
  t.same(rest.told.filter(([name]) => name === 'accountChanged').length, 2);
  t.match(await rest.store.wakeups(rest.clock.nowMs(), 10), [{ tenant: 'acme', workerId: id }]);
  t.equal((await rest.at('POST', 'tasks', { worker: 'mailer' })).status, 201);
  const { data } = await rest.read('audit');
  const entries = data.map((entry: { action: string; actor: object }) => [entry.action, entry.actor]);
  const operator = { type: 'system', id: 'operator' };
  t.same(entries.slice(0, 2), [
    ['account.resumed', operator],
    ['account.suspended', operator],
  ]);
});

test('limits are changed, shown to the tenant, and the default again', async (rest, t) => {
  const set = (limits: object) => rest.ask('PATCH', '/accounts/acme', { ...OPERATOR, body: { limits } });
  t.same((await set({ workers: 1, retain_other: '2d' })).json.changed_limits, ['retain_other', 'workers']);
  t.match((await rest.read('limits')).limits, { workers: 1, retain_other: '2d' });
  await rest.pushWorker();
  t.equal((await rest.at('POST', 'workers', { name: 'two' })).json.code, 'quota_exceeded');
  await set({ workers: null });
  t.match((await rest.read('limits')).limits, { workers: 100, retain_other: '2d' });
  for (const bad of [{ workers: 0 }, { retain_other: '1m' }, { retain_other: 'x' }, { workers: '5' }]) {
    t.match(await set(bad), problem('validation_failed'), JSON.stringify(bad));
  }
  t.equal((await set({ sheep: 1 })).json.code, 'unknown_field');
});

/** The least and the most of each limit. */
const BOUNDS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  open_tasks: [1, 100_000_000],
  payload_bytes: [1, 1_048_576],
  workers: [1, 10_000],
  schedules: [1, 100_000],
  users: [1, 10_000],
  tokens_per_user: [1, 1_000],
  in_flight: [1, 100_000],
  dispatch_per_second: [1, 100_000],
};

test('each limit has its bounds', async (rest, t) => {
  const set = async (limit: string, value: number | string) => {
    const body = { limits: { [limit]: value } };
    return (await rest.ask('PATCH', '/accounts/acme', { ...OPERATOR, body })).status;
  };
  const durations = ['retain_succeeded', 'retain_other'];
  t.same(
    [...Object.keys(BOUNDS), ...durations].sort(),
    Object.keys((await rest.read('limits')).limits).sort(),
  );
  for (const [limit, [least, most]] of Object.entries(BOUNDS)) {
    t.same([await set(limit, least), await set(limit, most)], [200, 200], limit);
    t.same([await set(limit, least - 1), await set(limit, most + 1)], [422, 422], limit);
  }
  for (const limit of durations) {
    t.same([await set(limit, '1h'), await set(limit, '366d')], [200, 200], limit);
    t.same([await set(limit, '59m'), await set(limit, '366d1s')], [422, 422], limit);
  }
});

test('the operator lets an owner in again who has lost all tokens', async (rest, t) => {
  const asked = { ...OPERATOR, headers: { 'idempotency-key': 'k' } };
  const made = await rest.ask('POST', '/accounts/acme/owner-token', asked);
  t.match(made, { status: 201, json: { token: /^tk_acme_/ } });
  const user = await rest.at('GET', `users/${made.json.user_id}`, undefined, { token: made.json.token });
  t.match(user.json, { role: 'owner' });
  const again = await rest.ask('POST', '/accounts/acme/owner-token', asked);
  t.same(again.json, { ...made.json, token: null });
  const [entry] = (await rest.read('audit')).data;
  t.match(entry, { action: 'account.owner_token_created', target_id: made.json.id });
});

test('a deleted account is gone at once, then empty, and its domain is free after 30 days', async (rest, t) => {
  const worker = await rest.pushWorker();
  await rest.made('workers/mailer/secrets', {});
  await rest.made('schedules', { name: 'nightly', worker: 'mailer', every: '1h' });
  for (const status of ['scheduled', 'retry', 'paused', 'succeeded', 'failed']) {
    await rest.taskIn(status, { id: worker.id, name: 'mailer' });
  }
  const running = await rest.taskIn('running', { id: worker.id, name: 'mailer' });
  const lease = (await rest.store.list('acme', taskQuery({ statuses: ['running'] }))).length;
  t.ok(lease > 0);
  const removed = await rest.ask('DELETE', '/accounts/acme', OPERATOR);
  t.match(removed, { status: 202, json: { status: 'deleting', deletion: { finished_at: null } } });
  t.equal((await rest.read('tasks')).code, 'tenant_not_found');
  t.equal((await rest.ask('DELETE', '/accounts/acme', OPERATOR)).status, 202, 'it may be repeated');
  const change = { ...OPERATOR, body: { status: 'active' } };
  t.equal((await rest.ask('PATCH', '/accounts/acme', change)).json.code, 'invalid_transition');
  t.same(await rest.store.dueDocuments(10), [], 'other processes have time to notice');
  rest.clock.advance(3_000);
  for (let look = 0; look < 20; look++) await goOn(rest);
  const left = (await rest.ask('GET', '/accounts/acme', OPERATOR)).json.deletion;
  t.match(left, { finished_at: null }, 'while a task runs it is not over');
  t.ok(rest.told.some(([name, , id]) => name === 'cancelRequested' && id === running));
  for (const { leases } of await rest.store.overdue(100)) t.equal(leases.length, 0);
  rest.clock.advance(3_600_000);
  for (const { leases } of await rest.store.overdue(100)) {
    for (const { leaseId } of leases) await rest.end(leaseId, 'lease_expired');
  }
  await goOn(rest);
  const { json } = await rest.ask('GET', '/accounts/acme', OPERATOR);
  t.match(json, { status: 'deleted', use: { workers: 0, users: 0 }, deletion: { tasks_left: 0 } });
  t.not(json.deletion.finished_at, null);
  for (const kind of ['user', 'token', 'worker', 'secret', 'schedule', 'removal', 'audit'] as const) {
    t.equal(await rest.store.countDocuments('acme', kind), 0, kind);
  }
  t.same(await rest.store.wakeups(Number.MAX_SAFE_INTEGER, 10), []);
  const again = { host: 'accounts.tasks.test', body: { domain: 'acme' } };
  rest.clock.advance(30 * DAY_MS - 1);
  await goOn(rest);
  t.equal((await rest.ask('POST', '/', again)).json.code, 'domain_taken');
  rest.clock.advance(1);
  await goOn(rest);
  t.equal((await rest.ask('GET', '/accounts/acme', OPERATOR)).json.code, 'tenant_not_found');
  t.equal((await rest.ask('POST', '/', again)).status, 201);
});
