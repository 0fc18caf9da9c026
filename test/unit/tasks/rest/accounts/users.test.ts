import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());

test('a user is created, read, changed and deleted', async (rest, t) => {
  const body = { email: 'Ada@acme.test', name: 'Ada', role: 'viewer', external_id: 'auth0|1' };
  const made = await rest.at('POST', 'users', body);
  t.equal(made.status, 201);
  const expected = {
    ...body,
    id: made.json.id,
    status: 'active',
    last_seen_at: null,
    created_at: '2026-03-01T10:00:00.000Z',
    updated_at: '2026-03-01T10:00:00.000Z',
    version: 1,
  };
  t.same(made.json, expected);
  const path = `users/${made.json.id}`;
  t.equal(made.headers['Location'], `/api/v1/${path}`);
  t.equal(made.headers['ETag'], '"1"');
  t.same((await rest.at('GET', path)).json, expected);
  rest.clock.advance(1_000);
  const changed = await rest.at('PUT', path, { name: 'Ada L.', external_id: null });
  t.equal(changed.status, 200);
  t.same(changed.json, {
    ...expected,
    name: 'Ada L.',
    external_id: null,
    updated_at: '2026-03-01T10:00:01.000Z',
    version: 2,
  });
  t.equal((await rest.at('PATCH', path, { status: 'disabled' })).json.status, 'disabled');
  const gone = await rest.at('DELETE', path);
  t.equal(gone.status, 204);
  t.equal(gone.body, '');
  t.equal((await rest.at('GET', path)).json.code, 'not_found');
  t.equal((await rest.at('DELETE', path)).json.code, 'not_found');
});

test('emails and external ids are unique in an account, and free again afterwards', async (rest, t) => {
  const add = (email: string, externalId: string) =>
    rest.at('POST', 'users', { email, external_id: externalId });
  const first = await add('a@x.test', '1');
  t.match(await add('A@X.test', '2'), problem('name_taken'));
  t.match(await add('b@x.test', '1'), problem('name_taken'));
  const second = await add('b@x.test', '2');
  const taken = await rest.at('PUT', `users/${second.json.id}`, { email: 'a@x.test' });
  t.equal(taken.json.code, 'name_taken');
  await rest.at('PUT', `users/${first.json.id}`, { email: 'c@x.test' });
  t.equal((await add('a@x.test', '3')).status, 201);
  const other = await rest.signUp('other');
  const elsewhere = { token: other.token, host: 'other.tasks.test' };
  t.equal((await rest.at('POST', 'users', { email: 'a@x.test' }, elsewhere)).status, 201);
});

test('fields that are not as they should be are refused', async (rest, t) => {
  const faults: [object, string][] = [
    [{}, '/email'],
    [{ email: 'nobody' }, '/email'],
    [{ email: `${'x'.repeat(250)}@x.test` }, '/email'],
    [{ email: 'a@x', role: 'king' }, '/role'],
    [{ email: 'a@x', name: 'x'.repeat(101) }, '/name'],
    [{ email: 'a@x', status: 'gone' }, '/status'],
  ];
  for (const [body, pointer] of faults) {
    const answer = await rest.at('POST', 'users', body);
    t.match(answer, problem('validation_failed', { errors: [{ pointer }] }));
  }
});

test('the last active owner stays, however somebody tries', async (rest, t) => {
  const [{ id: ownerId }] = (await rest.read('users')).data;
  const path = `users/${ownerId}`;
  for (const body of [{ role: 'admin' }, { status: 'disabled' }, { status: 'invited' }])
    t.match(await rest.at('PUT', path, body), problem('last_owner'));
  t.equal((await rest.at('DELETE', path)).json.code, 'last_owner');
  const invited = { email: 'b@x.test', role: 'owner', status: 'invited' };
  const second = await rest.at('POST', 'users', invited);
  t.equal((await rest.at('DELETE', path)).json.code, 'last_owner', 'invited ones do not count');
  await rest.at('PUT', `users/${second.json.id}`, { status: 'active' });
  const locked = await rest.at('DELETE', path);
  t.match(locked.json, { code: 'last_owner', detail: /No other active owner has a token/ });
  await rest.at('POST', `users/${second.json.id}/tokens`);
  t.equal((await rest.at('DELETE', path)).status, 204);
});

test('a request that keeps losing against concurrent changes is answered with a retry error', async (rest, t) => {
  const other = await rest.addUser(rest.token, 'owner');
  const apply = rest.store.apply.bind(rest.store);
  let tries = 0;
  rest.store.apply = (async (...args: Parameters<TaskStore['apply']>) => {
    if (args[1].length < 2 || args[1][1].kind !== 'account') return apply(...args);
    tries++;
    return { kind: 'refused', index: 1, reason: 'version' };
  }) as TaskStore['apply'];
  const answer = await rest.at('DELETE', `users/${other.id}`);
  t.match(answer, problem('store_unavailable'));
  t.equal(answer.headers['Retry-After'], '1');
  t.equal(tries, 8);
});

test('the number of users is bounded', async (rest, t) => {
  await rest.change('acme', 'account', 'account', account => ({ ...account, limits: { users: 2 } }));
  t.equal((await rest.at('POST', 'users', { email: 'a@x.test' })).status, 201);
  const full = await rest.at('POST', 'users', { email: 'b@x.test' });
  t.match(full, problem('quota_exceeded', { limit: 'users', max: 2 }));
});
