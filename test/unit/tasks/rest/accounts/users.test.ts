import t from 'tap';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { RestHarness } from '../../../../support/tasks/rest-harness.ts';

const USERS = '/api/v1/users';

t.test('a user is created, read, changed and deleted', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const body = { email: 'Ada@acme.test', name: 'Ada', role: 'viewer', external_id: 'auth0|1' };
  const made = await rest.ask('POST', USERS, { token, body });
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
  const path = `${USERS}/${made.json.id}`;
  t.equal(made.headers['Location'], path);
  t.equal(made.headers['ETag'], '"1"');
  t.same((await rest.ask('GET', path, { token })).json, expected);
  rest.clock.advance(1_000);
  const changed = await rest.ask('PUT', path, { token, body: { name: 'Ada L.', external_id: null } });
  t.equal(changed.status, 200);
  t.same(changed.json, {
    ...expected,
    name: 'Ada L.',
    external_id: null,
    updated_at: '2026-03-01T10:00:01.000Z',
    version: 2,
  });
  t.equal((await rest.ask('PATCH', path, { token, body: { status: 'disabled' } })).json.status, 'disabled');
  const gone = await rest.ask('DELETE', path, { token });
  t.equal(gone.status, 204);
  t.equal(gone.body, '');
  t.equal((await rest.ask('GET', path, { token })).json.code, 'not_found');
  t.equal((await rest.ask('DELETE', path, { token })).json.code, 'not_found');
});

t.test('emails and external ids are unique in an account, and free again afterwards', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const add = (email: string, externalId: string) =>
    rest.ask('POST', USERS, { token, body: { email, external_id: externalId } });
  const first = await add('a@x.test', '1');
  t.match(await add('A@X.test', '2'), { status: 409, json: { code: 'name_taken' } });
  t.match(await add('b@x.test', '1'), { status: 409, json: { code: 'name_taken' } });
  const second = await add('b@x.test', '2');
  const taken = await rest.ask('PUT', `${USERS}/${second.json.id}`, { token, body: { email: 'a@x.test' } });
  t.equal(taken.json.code, 'name_taken');
  await rest.ask('PUT', `${USERS}/${first.json.id}`, { token, body: { email: 'c@x.test' } });
  t.equal((await add('a@x.test', '3')).status, 201);
  const other = await rest.signUp('other');
  const elsewhere = { token: other.token, host: 'other.tasks.test', body: { email: 'a@x.test' } };
  t.equal((await rest.ask('POST', USERS, elsewhere)).status, 201);
});

t.test('fields that are not as they should be are refused', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const faults: [object, string][] = [
    [{}, '/email'],
    [{ email: 'nobody' }, '/email'],
    [{ email: `${'x'.repeat(250)}@x.test` }, '/email'],
    [{ email: 'a@x', role: 'king' }, '/role'],
    [{ email: 'a@x', name: 'x'.repeat(101) }, '/name'],
    [{ email: 'a@x', status: 'gone' }, '/status'],
  ];
  for (const [body, pointer] of faults) {
    const answer = await rest.ask('POST', USERS, { token, body });
    t.match(answer, { status: 422, json: { code: 'validation_failed', errors: [{ pointer }] } });
  }
});

t.test('owners change everybody, admins all but owners, others nobody', async t => {
  const rest = new RestHarness();
  const { token, ownerId } = await rest.signUp();
  const admin = await rest.addUser(token, 'admin');
  const member = await rest.addUser(token, 'member');
  const change = async (by: string, id: string, body: object) => {
    const { status, json } = await rest.ask('PUT', `${USERS}/${id}`, { token: by, body });
    return status === 200 ? 'ok' : json.code;
  };
  t.equal(await change(admin.token, member.id, { name: 'M' }), 'ok');
  t.equal(await change(admin.token, member.id, { role: 'owner' }), 'insufficient_role');
  t.equal(await change(admin.token, ownerId, { name: 'O' }), 'insufficient_role');
  t.equal(await change(admin.token, admin.id, { role: 'owner' }), 'insufficient_role');
  t.equal(await change(member.token, member.id, { name: 'M' }), 'insufficient_role');
  t.equal(await change(token, admin.id, { role: 'owner' }), 'ok');
  const byAdmin = await rest.addUser(token, 'admin');
  const owner = { email: 'o@x.test', role: 'owner' };
  t.equal(
    (await rest.ask('POST', USERS, { token: byAdmin.token, body: owner })).json.code,
    'insufficient_role',
  );
  t.equal((await rest.ask('DELETE', `${USERS}/${ownerId}`, { token: byAdmin.token })).status, 403);
});

t.test('members and viewers see themselves only', async t => {
  const rest = new RestHarness();
  const { token, ownerId } = await rest.signUp();
  const viewer = await rest.addUser(token, 'viewer');
  t.equal((await rest.ask('GET', `${USERS}/${viewer.id}`, { token: viewer.token })).status, 200);
  const hidden = await rest.ask('GET', `${USERS}/${ownerId}`, { token: viewer.token });
  const missing = await rest.ask('GET', `${USERS}/usr_00000000000000000000000000`, { token: viewer.token });
  t.same([hidden.json.code, hidden.json.detail], [missing.json.code, missing.json.detail]);
  t.equal((await rest.ask('GET', USERS, { token: viewer.token })).json.code, 'insufficient_role');
});

t.test('the last active owner stays, however somebody tries', async t => {
  const rest = new RestHarness();
  const { token, ownerId } = await rest.signUp();
  const path = `${USERS}/${ownerId}`;
  for (const body of [{ role: 'admin' }, { status: 'disabled' }, { status: 'invited' }])
    t.match(await rest.ask('PUT', path, { token, body }), { status: 409, json: { code: 'last_owner' } });
  t.equal((await rest.ask('DELETE', path, { token })).json.code, 'last_owner');
  const invited = { email: 'b@x.test', role: 'owner', status: 'invited' };
  const second = await rest.ask('POST', USERS, { token, body: invited });
  t.equal((await rest.ask('DELETE', path, { token })).json.code, 'last_owner', 'invited ones do not count');
  await rest.ask('PUT', `${USERS}/${second.json.id}`, { token, body: { status: 'active' } });
  const locked = await rest.ask('DELETE', path, { token });
  t.match(locked.json, { code: 'last_owner', detail: /No other active owner has a token/ });
  await rest.ask('POST', `${USERS}/${second.json.id}/tokens`, { token });
  t.equal((await rest.ask('DELETE', path, { token })).status, 204);
});

t.test('of two owners who leave at once one stays', async t => {
  for (let round = 0; round < 5; round++) {
    const rest = new RestHarness();
    const { token, ownerId } = await rest.signUp();
    const second = await rest.addUser(token, 'owner');
    const answers = await Promise.all([
      rest.ask('DELETE', `${USERS}/${ownerId}`, { token }),
      rest.ask('PUT', `${USERS}/${second.id}`, { token: second.token, body: { role: 'member' } }),
    ]);
    t.same(
      answers
        .map(({ status }) => status)
        .sort()
        .slice(1),
      [409],
    );
    const account = await rest.store.getDocument('acme', 'account', 'account');
    t.equal(account?.body.owners, 1);
  }
});

t.test('a request that keeps losing against concurrent changes is answered with a retry error', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const other = await rest.addUser(token, 'owner');
  const apply = rest.store.apply.bind(rest.store);
  let tries = 0;
  rest.store.apply = (async (...args: Parameters<TaskStore['apply']>) => {
    if (args[1].length < 2 || args[1][1].kind !== 'account') return apply(...args);
    tries++;
    return { kind: 'refused', index: 1, reason: 'version' };
  }) as TaskStore['apply'];
  const answer = await rest.ask('DELETE', `${USERS}/${other.id}`, { token });
  t.match(answer, { status: 503, json: { code: 'store_unavailable' } });
  t.equal(answer.headers['Retry-After'], '1');
  t.equal(tries, 8);
});

t.test('If-Match changes only the version it names', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const { id } = await rest.addUser(token, 'member');
  const put = (match: string, method = 'PUT') =>
    rest.ask(method, `${USERS}/${id}`, { token, body: { name: 'x' }, headers: { 'if-match': match } });
  t.equal((await put('"1"')).headers['ETag'], '"2"');
  t.match(await put('"1"'), { status: 412, json: { code: 'version_mismatch' } });
  t.equal((await put('"1"', 'DELETE')).status, 412);
  t.equal((await put('*')).status, 200);
  for (const bad of ['3', 'x', '"3" "4"', ''])
    t.match(await put(bad), { status: 400, json: { errors: [{ parameter: 'If-Match' }] } });
  for (const other of ['W/"3"', '"x"', '"1", "2"']) t.equal((await put(other)).status, 412, other);
  t.equal((await put('"7", "3"', 'DELETE')).status, 204);
});

t.test('the number of users is bounded', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  await rest.change('acme', 'account', 'account', account => ({ ...account, limits: { users: 2 } }));
  t.equal((await rest.ask('POST', USERS, { token, body: { email: 'a@x.test' } })).status, 201);
  const full = await rest.ask('POST', USERS, { token, body: { email: 'b@x.test' } });
  t.match(full, { status: 429, json: { code: 'quota_exceeded', limit: 'users', max: 2 } });
});

t.test('the same key creates one user', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const asked = { token, body: { email: 'a@x.test' }, headers: { 'idempotency-key': 'k' } };
  const first = await rest.ask('POST', USERS, asked);
  const again = await rest.ask('POST', USERS, asked);
  t.same(again.json, first.json);
  t.match(again, { status: 201, headers: { 'Idempotency-Replayed': 'true', ETag: '"1"' } });
  const other = await rest.ask('POST', USERS, { ...asked, body: { email: 'b@x.test' } });
  t.equal(other.json.code, 'idempotency_key_reused');
});

t.test('lists go page by page, each user once, in both orders', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  const ids = [(await rest.ask('GET', USERS, { token })).json.data[0].id];
  for (let i = 0; i < 6; i++) {
    rest.clock.advance(1);
    ids.push((await rest.ask('POST', USERS, { token, body: { email: `u${i}@x.test` } })).json.id);
  }
  for (const order of ['desc', 'asc']) {
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await rest.ask('GET', `${USERS}?limit=3&order=${order}${cursor}`, { token });
      seen.push(...page.json.data.map((user: { id: string }) => user.id));
      cursor = page.json.next_cursor === null ? '' : `&cursor=${page.json.next_cursor}`;
    } while (cursor !== '');
    t.same(seen, order === 'asc' ? ids : ids.toReversed());
  }
  t.equal((await rest.ask('GET', `${USERS}?limit=7`, { token })).json.next_cursor, null);
});

t.test('a cursor is good for the list that it came from', async t => {
  const rest = new RestHarness();
  const { token } = await rest.signUp();
  for (let i = 0; i < 3; i++) await rest.ask('POST', USERS, { token, body: { email: `u${i}@x.test` } });
  const { next_cursor: cursor } = (await rest.ask('GET', `${USERS}?limit=1`, { token })).json;
  const codeOf = async (query: string) => (await rest.ask('GET', `${USERS}?${query}`, { token })).json.code;
  t.equal(await codeOf(`limit=2&cursor=${cursor}`), undefined, 'the limit may change');
  t.equal(await codeOf(`order=desc&cursor=${cursor}`), undefined, 'it is the order by default');
  t.equal(await codeOf(`order=asc&cursor=${cursor}`), 'invalid_cursor');
  for (const bad of ['', 'x', `${cursor}A`, cursor.slice(1), cursor.toLowerCase(), 'A'.repeat(1000)])
    t.equal(await codeOf(`cursor=${bad}`), 'invalid_cursor', bad);
  for (const limit of ['0', '201', '-1', '1.5', '', 'x'])
    t.equal(await codeOf(`limit=${limit}`), 'invalid_parameter', limit);
  t.equal(await codeOf('order=up'), 'invalid_parameter');
  const other = await rest.signUp('other');
  const foreign = { token: other.token, host: 'other.tasks.test' };
  t.equal((await rest.ask('GET', `${USERS}?cursor=${cursor}`, foreign)).json.code, 'invalid_cursor');
});
