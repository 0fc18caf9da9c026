import t from 'tap';
import { ROLES } from '../../../../../src/tasks/model/documents.ts';
import { isTokenText, newToken } from '../../../../../src/tasks/rest/access/api-token.ts';
import type { Access, Route } from '../../../../../src/tasks/rest/http/route.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { problem, RestHarness } from '../../../../support/tasks/rest-harness.ts';

/** A route for each access, named by it. */
function routeFor(access: Access): Route {
  return {
    method: 'GET',
    path: `/v1/${access.role}/${access.scope}${access.workers ? '/workers' : ''}`,
    operation: `${access.role} ${access.scope} ${access.workers}`,
    summary: '',
    access,
    answers: {},
    problems: [],
    handle: ({ caller }) => ({ status: 200, json: caller }),
  };
}

const LEASES: Access = { role: 'member', scope: 'leases', workers: true };

function harness(): RestHarness {
  return new RestHarness({
    routes: () => [...ROLES.map(role => routeFor({ role, scope: 'tasks:read' })), routeFor(LEASES)],
  });
}

t.test('the scopes of a token narrow what its user may do', async t => {
  const rest = harness();
  const { token } = await rest.signUp();
  const asking = async (scopes: readonly string[]) => {
    const user = await rest.addUser(token, 'owner', scopes);
    return rest.ask('GET', '/api/v1/viewer/tasks:read', { token: user.token });
  };
  t.equal((await asking(['tasks:read'])).status, 200);
  t.equal((await asking(['tasks:*'])).status, 200);
  const refused = await asking(['tasks:write', 'users:*']);
  t.match(refused, problem('insufficient_scope'));
  t.equal(refused.headers['WWW-Authenticate'], 'Bearer error="insufficient_scope", scope="tasks:read"');
});

t.test('without a token, or with another scheme, one is asked for', async t => {
  const rest = harness();
  await rest.signUp();
  for (const authorization of [undefined, '', 'Basic YTpi', 'Bearer', 'bearertk_']) {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await rest.ask('GET', '/api/v1/viewer/tasks:read', { headers });
    t.match(answer, problem('authentication_required'), String(authorization));
    t.equal(answer.headers['WWW-Authenticate'], 'Bearer');
  }
});

t.test('tokens that do not count get one and the same answer', async t => {
  const rest = harness();
  const { token } = await rest.signUp();
  const other = await rest.signUp('other');
  const gone = await rest.addUser(token, 'member');
  await rest.ask('DELETE', `/api/v1/users/${gone.id}`, { token });
  const disabled = await rest.addUser(token, 'member');
  await rest.ask('PUT', `/api/v1/users/${disabled.id}`, { token, body: { status: 'disabled' } });
  const unknown = newToken('tk', 'acme', count => Buffer.alloc(count, 1));
  const bodies = new Set<string>();
  for (const bad of [
    'x',
    `${token.slice(0, -1)}_`,
    `x${token}`,
    unknown,
    other.token,
    gone.token,
    disabled.token,
    'x'.repeat(8000),
  ]) {
    const answer = await rest.ask('GET', '/api/v1/viewer/tasks:read', {
      token: bad,
      headers: { 'x-request-id': 'r' },
    });
    t.equal(answer.status, 401);
    t.equal(answer.headers['WWW-Authenticate'], 'Bearer error="invalid_token"');
    bodies.add(answer.body);
  }
  t.equal(bodies.size, 1);
  t.match([...bodies][0], /invalid_token/);
});

t.test('a token with a wrong checksum is not looked for', async t => {
  const rest = harness();
  const { token } = await rest.signUp();
  let looked = 0;
  const find = rest.store.findDocument.bind(rest.store);
  rest.store.findDocument = (tenant, name) => {
    looked++;
    return find(tenant, name);
  };
  const typo = token.replace(/.(?=_[^_]*$)/, last => (last === 'a' ? 'b' : 'a'));
  t.equal((await rest.ask('GET', '/api/v1/viewer/tasks:read', { token: typo })).status, 401);
  t.equal(looked, 0);
});

t.test('an expired token says so', async t => {
  const rest = harness();
  const { token, ownerId } = await rest.signUp();
  const body = { expires_at: new Date(rest.clock.nowMs() + 5_000).toISOString() };
  const made = await rest.ask('POST', `/api/v1/users/${ownerId}/tokens`, { token, body });
  rest.clock.advance(4_999);
  t.equal((await rest.ask('GET', '/api/v1/viewer/tasks:read', { token: made.json.token })).status, 200);
  rest.clock.advance(1);
  const answer = await rest.ask('GET', '/api/v1/viewer/tasks:read', { token: made.json.token });
  t.match(answer, problem('token_expired'));
  t.match(answer.headers['WWW-Authenticate'], /invalid_token/);
});

t.test('when a token was used is noted, not for each request', async t => {
  const rest = harness();
  const { token, ownerId } = await rest.signUp();
  const path = `/api/v1/users/${ownerId}`;
  await rest.ask('GET', path, { token });
  rest.clock.advance(1_000);
  const used = async () => (await rest.ask('GET', `${path}/tokens`, { token })).json.data[0].last_used_at;
  t.equal(await used(), '2026-03-01T10:00:00.000Z');
  t.equal((await rest.ask('GET', path, { token })).json.last_seen_at, '2026-03-01T10:00:00.000Z');
  rest.clock.advance(600_000);
  await rest.ask('GET', path, { token });
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
