import t from 'tap';
import { isTokenText, newToken } from '../../../../../src/tasks/rest/access/api-token.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());

test('the scopes of a token narrow what its user may do', async (rest, t) => {
  const asking = async (scopes: readonly string[]) => {
    const user = await rest.addUser(rest.token, 'owner', scopes);
    return rest.at('GET', 'tasks', undefined, { token: user.token });
  };
  t.equal((await asking(['tasks:read'])).status, 200);
  t.equal((await asking(['tasks:*'])).status, 200);
  const refused = await asking(['tasks:write', 'users:*']);
  t.match(refused, problem('insufficient_scope'));
  t.equal(refused.headers['WWW-Authenticate'], 'Bearer error="insufficient_scope", scope="tasks:read"');
});

test('without a token, or with another scheme, one is asked for', async (rest, t) => {
  for (const authorization of [undefined, '', 'Basic YTpi', 'Bearer', 'bearertk_']) {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await rest.at('GET', 'tasks', undefined, { token: undefined, headers });
    t.match(answer, problem('authentication_required'), String(authorization));
    t.equal(answer.headers['WWW-Authenticate'], 'Bearer');
  }
});

test('tokens that do not count get one and the same answer', async (rest, t) => {
  const other = await rest.signUp('other');
  const gone = await rest.addUser(rest.token, 'member');
  await rest.at('DELETE', `users/${gone.id}`);
  const disabled = await rest.addUser(rest.token, 'member');
  await rest.at('PUT', `users/${disabled.id}`, { status: 'disabled' });
  const unknown = newToken('tk', 'acme', count => Buffer.alloc(count, 1));
  const bodies = new Set<string>();
  for (const bad of [
    'x',
    `${rest.token.slice(0, -1)}_`,
    `x${rest.token}`,
    unknown,
    other.token,
    gone.token,
    disabled.token,
    'x'.repeat(8000),
  ]) {
    const asked = { token: bad, headers: { 'x-request-id': 'r' } };
    const answer = await rest.at('GET', 'tasks', undefined, asked);
    t.equal(answer.status, 401);
    t.equal(answer.headers['WWW-Authenticate'], 'Bearer error="invalid_token"');
    bodies.add(answer.body);
  }
  t.equal(bodies.size, 1);
  t.match([...bodies][0], /invalid_token/);
});

test('a token with a wrong checksum is not looked for', async (rest, t) => {
  let looked = 0;
  const find = rest.store.findDocument.bind(rest.store);
  rest.store.findDocument = (tenant, name) => {
    looked++;
    return find(tenant, name);
  };
  const typo = rest.token.replace(/.(?=_[^_]*$)/, last => (last === 'a' ? 'b' : 'a'));
  t.equal((await rest.at('GET', 'tasks', undefined, { token: typo })).status, 401);
  t.equal(looked, 0);
});

test('an expired token says so', async (rest, t) => {
  const [{ id: ownerId }] = (await rest.read('users')).data;
  const body = { expires_at: new Date(rest.clock.nowMs() + 5_000).toISOString() };
  const made = await rest.made(`users/${ownerId}/tokens`, body);
  rest.clock.advance(4_999);
  t.equal((await rest.at('GET', 'tasks', undefined, { token: made.token })).status, 200);
  rest.clock.advance(1);
  const answer = await rest.at('GET', 'tasks', undefined, { token: made.token });
  t.match(answer, problem('token_expired'));
  t.match(answer.headers['WWW-Authenticate'], /invalid_token/);
});

test('when a token was used is noted, not for each request', async (rest, t) => {
  const [{ id: ownerId }] = (await rest.read('users')).data;
  const path = `users/${ownerId}`;
  await rest.read(path);
  rest.clock.advance(1_000);
  const used = async () => (await rest.read(`${path}/tokens`)).data[0].last_used_at;
  t.equal(await used(), '2026-03-01T10:00:00.000Z');
  t.equal((await rest.read(path)).last_seen_at, '2026-03-01T10:00:00.000Z');
  rest.clock.advance(600_000);
  await rest.read(path);
  rest.clock.advance(1_000);
  t.equal(await used(), '2026-03-01T10:10:01.000Z');
});

t.test('tokens hold the domain, 256 random bits and a checksum', async t => {
  const random = new SeededRandom(7);
  const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => random.below(256)));
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const token = newToken(i % 2 === 0 ? 'tk' : 'wkt', 'a-long-domain', bytes);
    t.match(token, /^(tk|wkt)_a-long-domain_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    t.ok(isTokenText(token));
    seen.add(token);
    const place = random.below(token.length);
    const changed = `${token.slice(0, place)}${token[place] === 'x' ? 'y' : 'x'}${token.slice(place + 1)}`;
    t.notOk(isTokenText(changed), changed);
  }
  t.equal(seen.size, 200);
  t.match(
    newToken('tk', 'acme', count => Buffer.alloc(count)),
    /_0{43}_/,
  );
  t.match(
    newToken('tk', 'acme', count => Buffer.alloc(count, 255)),
    /^tk_acme_[^_]{43}_/,
  );
});
