import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());

async function entries(rest: TaskHarness, query = '') {
  return await rest.read(`audit?order=asc${query}`);
}

test('changes of users, tokens, workers, secrets and schedules are in the audit log', async (rest, t) => {
  const user = await rest.made('users', { email: 'ada@x.test', role: 'admin' });
  await rest.at('PATCH', `users/${user.id}`, { role: 'viewer', name: 'Ada' });
  const token = await rest.made(`users/${user.id}/tokens`, { name: 'ci' });
  await rest.at('DELETE', `users/${user.id}/tokens/${token.id}`);
  await rest.at('DELETE', `users/${user.id}`);
  const worker = await rest.pushWorker();
  await rest.at('PATCH', `workers/${worker.id}`, { timeout: '5s' });
  const secret = await rest.made(`workers/${worker.id}/secrets`, { name: 'main' });
  await rest.at('DELETE', `workers/${worker.id}/secrets/${secret.id}`);
  const schedule = await rest.made('schedules', { name: 'nightly', worker: 'mailer', every: '1h' });
  await rest.at('PUT', `schedules/${schedule.id}`, { paused: true });
  await rest.at('DELETE', `schedules/${schedule.id}`);
  await rest.at('POST', 'tasks/actions', { action: 'cancel', filter: {} });
  await rest.at('DELETE', `workers/${worker.id}`);
  const { data } = await entries(rest);
  const short = data.map((entry: { action: string; target_id: string; target_name: string }) => [
    entry.action,
    entry.target_id,
    entry.target_name,
  ]);
  t.same(short, [
    ['account.created', null, 'acme'],
    ['user.created', user.id, null],
    ['user.updated', user.id, null],
    ['token.created', token.id, 'ci'],
    ['token.deleted', token.id, 'ci'],
    ['user.deleted', user.id, null],
    ['worker.created', worker.id, 'mailer'],
    ['worker.updated', worker.id, 'mailer'],
    ['secret.created', secret.id, 'main'],
    ['secret.deleted', secret.id, 'main'],
    ['schedule.created', schedule.id, 'nightly'],
    ['schedule.updated', schedule.id, 'nightly'],
    ['schedule.deleted', schedule.id, 'nightly'],
    ['tasks.bulk_action', null, null],
    ['worker.deleted', worker.id, 'mailer'],
  ]);
});

test('an entry says who, with which token, when, what, and in which request', async (rest, t) => {
  const [owner] = (await rest.read('users')).data;
  const [token] = (await rest.read(`users/${owner.id}/tokens`)).data;
  const headers = { 'x-request-id': 'my-request' };
  const { id } = await rest.made('users', { email: 'ada@x.test', role: 'member' }, { headers });
  const { data } = await entries(rest);
  const { id: entryId, ...entry } = data.at(-1);
  t.match(entryId, /^aud_/);
  t.same(entry, {
    at: '2026-03-01T10:00:00.000Z',
    action: 'user.created',
    actor: { type: 'user', id: owner.id },
    token_id: token.id,
    target_id: id,
    target_name: null,
    changed: ['email', 'role'],
    details: { role: 'member', status: 'active' },
    request_id: 'my-request',
  });
});

test('no entry has a secret, a payload, an email or a URL in it', async (rest, t) => {
  const canary = 'c4nary';
  const headers = { 'x-canary': canary };
  await rest.pushWorker({ url: `https://${canary}.example.com/`, headers });
  const value = `${canary} value`;
  await rest.made('workers/mailer/secrets', { type: 'header', name: 'x-key', value });
  const signing = await rest.made('workers/mailer/secrets', {});
  const task = { payload: { canary }, headers };
  await rest.made('schedules', { name: 'nightly', worker: 'mailer', every: '1h', task });
  const user = await rest.made('users', { email: `${canary}@x.test`, name: canary });
  const token = await rest.made(`users/${user.id}/tokens`, {});
  const { body } = await rest.at('GET', 'audit?limit=200');
  for (const word of [canary, signing.value, token.token]) t.notMatch(body, word);
});

test('what was refused, changed nothing, or only looked is not in it', async (rest, t) => {
  const asked = { headers: { 'idempotency-key': 'k' } };
  const body = { email: 'ada@x.test' };
  await rest.at('POST', 'users', body, asked);
  const before = (await entries(rest)).data.length;
  await rest.at('POST', 'users', body, asked);
  t.equal((await rest.at('POST', 'users', body)).status, 409);
  t.equal((await rest.at('PUT', 'users/usr_00000000000000000000000000', { name: 'x' })).status, 404);
  await rest.at('POST', 'tasks/actions', { action: 'cancel', filter: {}, dry_run: true });
  await rest.at('GET', 'users');
  t.equal((await entries(rest)).data.length, before);
});

test('entries are due for removal after 90 days, and only the newest 5,000 are kept', async (rest, t) => {
  rest.clock.advance(90 * 86_400_000 - 1);
  t.same(await rest.store.dueDocuments(10), []);
  rest.clock.advance(1);
  t.match(await rest.store.dueDocuments(10), [{ tenant: 'acme', document: { kind: 'audit' } }]);
  const changes = Array.from({ length: 5_100 }, () => rest.factory.audit());
  await rest.store.apply('acme', changes);
  rest.token = (await rest.signUp('other')).token;
  const host = { host: 'other.tasks.test', token: rest.token };
  await rest.made('users', { email: 'ada@x.test' }, host);
  t.equal(await rest.store.countDocuments('acme', 'audit'), 5_101);
  t.equal(await rest.store.countDocuments('other', 'audit'), 2);
});
