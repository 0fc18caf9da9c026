import t from 'tap';
import { DAY_MS } from '../../../../../src/base/clock.ts';
import { problem, RestHarness } from '../../../../support/tasks/rest-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(account);

async function account() {
  const rest = new RestHarness();
  const { token, ownerId } = await rest.signUp();
  const path = `/api/v1/users/${ownerId}/tokens`;
  return { rest, token, ownerId, path };
}

test('a token is shown once, and listed without its text', async ({ rest, token, ownerId, path }, t) => {
  const body = { name: 'ci', scopes: ['tasks:write', 'workers:*'] };
  const made = await rest.ask('POST', path, { token, body });
  t.equal(made.status, 201);
  t.equal(made.headers['Location'], `${path}/${made.json.id}`);
  const { token: text, ...fields } = made.json;
  t.match(text, /^tk_acme_/);
  t.same(fields, {
    id: made.json.id,
    user_id: ownerId,
    name: 'ci',
    scopes: ['tasks:write', 'workers:read', 'workers:write'],
    expires_at: '2026-05-30T10:00:00.000Z',
    last_used_at: null,
    created_at: '2026-03-01T10:00:00.000Z',
    created_by: { type: 'user', id: ownerId },
  });
  const listed = await rest.ask('GET', path, { token });
  t.equal(listed.json.data.length, 2);
  t.notMatch(listed.body, text);
  t.equal(listed.json.next_cursor, null);
});

test('with a user its tokens go', async ({ rest, token }, t) => {
  const { id, token: theirs } = await rest.addUser(token, 'member');
  await rest.ask('DELETE', `/api/v1/users/${id}`, { token });
  t.equal((await rest.ask('GET', `/api/v1/users/${id}`, { token: theirs })).json.code, 'invalid_token');
  t.same(
    await rest.store.listDocuments('acme', {
      kind: 'token',
      parent: id,
      after: null,
      limit: 9,
      order: 'asc',
    }),
    [],
  );
});

test('a token lives at most 366 days', async ({ rest, token, path }, t) => {
  const create = (ms: number) => {
    const body = { expires_at: new Date(rest.clock.nowMs() + ms).toISOString() };
    return rest.ask('POST', path, { token, body });
  };
  t.equal((await create(366 * DAY_MS)).json.expires_at, '2027-03-02T10:00:00.000Z');
  for (const ms of [366 * DAY_MS + 1, 0, -1])
    t.match(await create(ms), { status: 422, json: { errors: [{ pointer: '/expires_at' }] } });
  t.equal((await rest.ask('POST', path, { token, body: { expires_at: 'soon' } })).status, 422);
  t.equal((await rest.ask('POST', path, { token, body: { scopes: ['all'] } })).status, 422);
  t.equal((await rest.ask('POST', path, { token, body: { scopes: [] } })).status, 422);
});

test('tokens are for their users, admins, and of owners owners', async ({
  rest,
  token,
  path: ownerPath,
}, t) => {
  const admin = await rest.addUser(token, 'admin');
  const viewer = await rest.addUser(token, 'viewer');
  const codeOf = async (by: string, path: string, method = 'POST') => {
    const { status, json } = await rest.ask(method, path, { token: by });
    return status < 300 ? 'ok' : json.code;
  };
  const own = `/api/v1/users/${viewer.id}/tokens`;
  t.equal(await codeOf(viewer.token, own), 'ok');
  t.equal(await codeOf(viewer.token, own, 'GET'), 'ok');
  t.equal(await codeOf(admin.token, own), 'ok');
  t.equal(await codeOf(admin.token, ownerPath), 'insufficient_role');
  t.equal(await codeOf(admin.token, ownerPath, 'GET'), 'ok');
  t.equal(await codeOf(viewer.token, ownerPath), 'not_found');
  t.equal(await codeOf(viewer.token, ownerPath, 'GET'), 'not_found');
  t.equal(await codeOf(token, own), 'ok');
});

test('a token of one user is not found under another', async ({ rest, token }, t) => {
  const a = await rest.addUser(token, 'member');
  const b = await rest.addUser(token, 'member');
  const made = await rest.ask('POST', `/api/v1/users/${a.id}/tokens`, { token });
  const wrong = await rest.ask('DELETE', `/api/v1/users/${b.id}/tokens/${made.json.id}`, { token });
  t.equal(wrong.json.code, 'not_found');
});

test('the number of tokens of a user is bounded', async ({ rest, token, path }, t) => {
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { tokensPerUser: 2 } }));
  t.equal((await rest.ask('POST', path, { token })).status, 201);
  t.match(
    await rest.ask('POST', path, { token }),
    problem('quota_exceeded', { limit: 'tokens_per_user', max: 2 }),
  );
});

test('limits tell what there may be and what there is', async ({ rest, token }, t) => {
  const viewer = await rest.addUser(token, 'viewer');
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { workers: 7 } }));
  const { status, json } = await rest.ask('GET', '/api/v1/limits', { token: viewer.token });
  t.equal(status, 200);
  t.match(json, {
    limits: {
      open_tasks: 1_000_000,
      retain_succeeded: '7d',
      retain_other: '30d',
      payload_bytes: 262_144,
      workers: 7,
      schedules: 1_000,
      users: 100,
      tokens_per_user: 50,
      in_flight: 200,
      dispatch_per_second: 500,
    },
    use: { open_tasks: 0, workers: 0, schedules: 0, users: 2, in_flight: 0 },
    time_zone_data: process.versions.tz,
  });
});

t.test('the last token of an owner that can manage users stays until there is another', async t => {
  const rest = new RestHarness();
  const { token, ownerId } = await rest.signUp();
  const path = `/api/v1/users/${ownerId}/tokens`;
  const first = (await rest.ask('GET', path, { token })).json.data[0].id;
  const remove = async (id: string) => (await rest.ask('DELETE', `${path}/${id}`, { token })).json?.code;
  const codes = async () => [await remove(first)];
  t.match((await rest.ask('DELETE', `${path}/${first}`, { token })).json, {
    code: 'last_owner_token',
    detail: /Create another one first/,
  });
  await rest.ask('POST', path, { token, body: { scopes: ['tasks:read'] } });
  t.same(await codes(), ['last_owner_token'], 'a narrowed one does not count');
  const soon = new Date(rest.clock.nowMs() + 1_000).toISOString();
  await rest.ask('POST', path, { token, body: { expires_at: soon } });
  rest.clock.advance(1_000);
  t.same(await codes(), ['last_owner_token'], 'one that has expired does not count');
  await rest.addUser(token, 'admin');
  t.same(await codes(), ['last_owner_token'], 'one of an admin does not count');
  const next = (await rest.ask('POST', path, { token })).json;
  t.equal((await rest.ask('DELETE', `${path}/${first}`, { token: next.token })).status, 204);
  const last = await rest.ask('DELETE', `${path}/${next.id}`, { token: next.token });
  t.equal(last.json.code, 'last_owner_token');
});
