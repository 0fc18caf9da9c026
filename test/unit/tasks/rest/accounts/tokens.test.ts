import { DAY_MS } from '../../../../../src/base/clock.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(account);

async function account() {
  const rest = await TaskHarness.open();
  const [{ id: ownerId }] = (await rest.read('users')).data;
  return { rest, ownerId, path: `users/${ownerId}/tokens` };
}

test('a token is shown once, and listed without its text', async ({ rest, ownerId, path }, t) => {
  const body = { name: 'ci', scopes: ['tasks:write', 'workers:*'] };
  const made = await rest.at('POST', path, body);
  t.equal(made.status, 201);
  t.equal(made.headers['Location'], `/api/v1/${path}/${made.json.id}`);
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
  const listed = await rest.at('GET', path);
  t.equal(listed.json.data.length, 2);
  t.notMatch(listed.body, text);
  t.equal(listed.json.next_cursor, null);
});

test('with a user its tokens go', async ({ rest }, t) => {
  const { id, token: theirs } = await rest.addUser(rest.token, 'member');
  await rest.at('DELETE', `users/${id}`);
  t.equal((await rest.at('GET', `users/${id}`, undefined, { token: theirs })).json.code, 'invalid_token');
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

test('a token lives at most 366 days', async ({ rest, path }, t) => {
  const create = (ms: number) => {
    const body = { expires_at: new Date(rest.clock.nowMs() + ms).toISOString() };
    return rest.at('POST', path, body);
  };
  t.equal((await create(366 * DAY_MS)).json.expires_at, '2027-03-02T10:00:00.000Z');
  for (const ms of [366 * DAY_MS + 1, 0, -1])
    t.match(await create(ms), { status: 422, json: { errors: [{ pointer: '/expires_at' }] } });
  t.equal((await rest.at('POST', path, { expires_at: 'soon' })).status, 422);
  t.equal((await rest.at('POST', path, { scopes: ['all'] })).status, 422);
  t.equal((await rest.at('POST', path, { scopes: [] })).status, 422);
});

test('tokens are for their users, admins, and of owners owners', async ({ rest, path: ownerPath }, t) => {
  const admin = await rest.addUser(rest.token, 'admin');
  const viewer = await rest.addUser(rest.token, 'viewer');
  const codeOf = async (by: string, path: string, method = 'POST') => {
    const { status, json } = await rest.at(method, path, undefined, { token: by });
    return status < 300 ? 'ok' : json.code;
  };
  const own = `users/${viewer.id}/tokens`;
  t.equal(await codeOf(viewer.token, own), 'ok');
  t.equal(await codeOf(viewer.token, own, 'GET'), 'ok');
  t.equal(await codeOf(admin.token, own), 'ok');
  t.equal(await codeOf(admin.token, ownerPath), 'insufficient_role');
  t.equal(await codeOf(admin.token, ownerPath, 'GET'), 'ok');
  t.equal(await codeOf(viewer.token, ownerPath), 'not_found');
  t.equal(await codeOf(viewer.token, ownerPath, 'GET'), 'not_found');
  t.equal(await codeOf(rest.token, own), 'ok');
});

test('a token of one user is not found under another', async ({ rest }, t) => {
  const a = await rest.addUser(rest.token, 'member');
  const b = await rest.addUser(rest.token, 'member');
  const made = await rest.at('POST', `users/${a.id}/tokens`);
  const wrong = await rest.at('DELETE', `users/${b.id}/tokens/${made.json.id}`);
  t.equal(wrong.json.code, 'not_found');
});

test('the number of tokens of a user is bounded', async ({ rest, path }, t) => {
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { tokensPerUser: 2 } }));
  t.equal((await rest.at('POST', path)).status, 201);
  t.match(await rest.at('POST', path), problem('quota_exceeded', { limit: 'tokens_per_user', max: 2 }));
});

test('limits tell what there may be and what there is', async ({ rest }, t) => {
  const viewer = await rest.addUser(rest.token, 'viewer');
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { workers: 7 } }));
  const { status, json } = await rest.at('GET', 'limits', undefined, { token: viewer.token });
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

test('the last token of an owner that can manage users stays', async ({ rest, path }, t) => {
  const first = (await rest.at('GET', path)).json.data[0].id;
  const remove = async (id: string) => (await rest.at('DELETE', `${path}/${id}`)).json?.code;
  const codes = async () => [await remove(first)];
  t.match((await rest.at('DELETE', `${path}/${first}`)).json, {
    code: 'last_owner_token',
    detail: /Create another one first/,
  });
  await rest.at('POST', path, { scopes: ['tasks:read'] });
  t.same(await codes(), ['last_owner_token'], 'a narrowed one does not count');
  const soon = new Date(rest.clock.nowMs() + 1_000).toISOString();
  await rest.at('POST', path, { expires_at: soon });
  rest.clock.advance(1_000);
  t.same(await codes(), ['last_owner_token'], 'one that has expired does not count');
  await rest.addUser(rest.token, 'admin');
  t.same(await codes(), ['last_owner_token'], 'one of an admin does not count');
  const next = (await rest.at('POST', path)).json;
  t.equal((await rest.at('DELETE', `${path}/${first}`, undefined, { token: next.token })).status, 204);
  const last = await rest.at('DELETE', `${path}/${next.id}`, undefined, { token: next.token });
  t.equal(last.json.code, 'last_owner_token');
});
