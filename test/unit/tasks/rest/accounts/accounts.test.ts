import t from 'tap';
import { isLoopback } from '../../../../../src/tasks/rest/access/authentication.ts';
import { problem, RestHarness } from '../../../../support/tasks/rest-harness.ts';

const AT = { host: 'accounts.tasks.test' };

t.test('an account comes with an owner and the one token that can sign in', async t => {
  const rest = new RestHarness();
  const made = await rest.ask('POST', '/', { ...AT, body: { domain: 'Acme' } });
  t.equal(made.status, 201);
  t.match(made.json, {
    id: /^acc_[0-9A-Z]{26}$/,
    domain: 'acme',
    api_url: 'https://acme.tasks.test/api/v1',
    status: 'active',
    created_at: '2026-03-01T10:00:00.000Z',
    owner: { id: /^usr_/ },
    token: /^tk_acme_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/,
    token_expires_at: '2027-03-02T10:00:00.000Z',
  });
  t.equal(made.headers['Location'], made.json.api_url);
  const owner = await rest.ask('GET', `/api/v1/users/${made.json.owner.id}`, { token: made.json.token });
  t.match(owner.json, { role: 'owner', status: 'active', email: 'owner@acme.invalid' });
});

t.test('the alias on the host of the service does the same, and only there', async t => {
  const rest = new RestHarness();
  const body = { domain: 'acme' };
  t.equal((await rest.ask('POST', '/accounts', { host: 'tasks.test', body })).status, 201);
  t.match((await rest.ask('POST', '/accounts', { ...AT, body })).json, { code: 'not_found' });
  t.match((await rest.ask('POST', '/', { host: 'tasks.test', body })).json, { code: 'tenant_not_found' });
  const wrong = await rest.ask('PUT', '/', AT);
  t.equal(wrong.status, 405);
  t.equal(wrong.headers['Allow'], 'GET, POST, HEAD');
});

t.test('a domain that is taken, in whatever letters, is refused', async t => {
  const rest = new RestHarness();
  const first = await rest.signUp();
  const again = await rest.ask('POST', '/', { ...AT, body: { domain: 'ACME' } });
  t.match(again, problem('domain_taken'));
  t.equal((await rest.ask('GET', '/api/v1/users', { token: first.token })).json.data.length, 1);
});

t.test('domains have the form of a host label, and no reserved word is one', async t => {
  const rest = new RestHarness();
  const bad = [
    'a\u0000b',
    'ab',
    'a'.repeat(41),
    '1abc',
    '-abc',
    'abc-',
    'a--b',
    'a_b',
    'ab.c',
    'äbc',
    '',
    'a b c',
  ];
  const reserved =
    'www api accounts auth admin app status docs mail static cdn localhost ns1 ns2 metrics'.split(' ');
  for (const domain of [...bad, ...reserved, 'WWW']) {
    t.match(
      await rest.ask('POST', '/', { ...AT, body: { domain } }),
      problem('invalid_domain', { errors: [{ pointer: '/domain' }] }),
      domain,
    );
  }
  for (const domain of ['abc', 'a-b', 'a1-2-3', 'a'.repeat(40)]) {
    t.equal((await rest.ask('POST', '/', { ...AT, body: { domain } })).status, 201, domain);
  }
});

t.test('by default accounts are made with the token of the operator only', async t => {
  const rest = new RestHarness({ config: { signup: 'operator', operatorToken: 'of the operator' } });
  const body = { domain: 'acme' };
  const local = await rest.ask('POST', '/', { ...AT, body, remoteAddress: '127.0.0.1' });
  t.match(local, problem('authentication_required'));
  t.equal(local.headers['WWW-Authenticate'], 'Bearer');
  t.match(await rest.ask('POST', '/', { ...AT, body, token: 'another one' }), problem('invalid_token'));
  t.equal((await rest.ask('POST', '/', { ...AT, body, token: 'of the operator' })).status, 201);
});

t.test('without an operator token, no token is accepted', async t => {
  const rest = new RestHarness({ config: { signup: 'operator' } });
  const asked = { ...AT, body: { domain: 'acme' }, headers: { authorization: 'Bearer  ' } };
  t.equal((await rest.ask('POST', '/', asked)).json.code, 'invalid_token');
});

t.test('callers on the loopback interface may make accounts where the operator says so', async t => {
  const rest = new RestHarness({ config: { signup: 'loopback' } });
  const body = { domain: 'acme' };
  t.equal((await rest.ask('POST', '/', { ...AT, body })).status, 401);
  t.equal((await rest.ask('POST', '/', { ...AT, body, remoteAddress: '::1' })).status, 201);
  for (const address of [
    '127.0.0.1',
    '127.9.8.7',
    '::ffff:127.0.0.1',
    '0000:0000:0000:0000:0000:ffff:7f00:0001',
  ])
    t.ok(isLoopback(address), address);
  for (const address of ['128.0.0.1', '::ffff:10.0.0.1', '1127.0.0.1', 'fe80::1', ''])
    t.notOk(isLoopback(address), address);
});

t.test('the same key gets the same account again, without the token', async t => {
  const rest = new RestHarness();
  const asked = { ...AT, body: { domain: 'acme' }, headers: { 'idempotency-key': 'k' } };
  const first = await rest.ask('POST', '/', asked);
  const again = await rest.ask('POST', '/', asked);
  t.equal(again.status, 201);
  t.same(again.json, { ...first.json, token: null });
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  t.equal(first.headers['Idempotency-Replayed'], undefined);
  const other = await rest.ask('POST', '/', { ...asked, body: { domain: 'ACME' } });
  t.match(other, problem('idempotency_key_reused'));
});

t.test('making accounts is limited, too', async t => {
  const rest = new RestHarness();
  const nearest = { limit: 60, remaining: 0, windowSeconds: 60, resetSeconds: 7 };
  rest.limits.verdict = { allowed: false, nearest };
  const refused = await rest.ask('POST', '/', { ...AT, body: { domain: 'acme' } });
  t.match(refused, problem('rate_limited'));
  t.equal(refused.headers['Retry-After'], '7');
  t.same(rest.limits.calls, [{ tenant: 'accounts', kind: 'write', user: '' }]);
});

t.test('a body that is not as it should be says so', async t => {
  const rest = new RestHarness();
  t.match((await rest.ask('POST', '/', { ...AT, body: {} })).json, {
    code: 'validation_failed',
    errors: [{ pointer: '/domain' }],
  });
  t.match((await rest.ask('POST', '/', { ...AT, body: { domain: 'acme', name: 'x' } })).json, {
    code: 'unknown_field',
    errors: [{ pointer: '/name' }],
  });
  t.match((await rest.ask('POST', '/?a=1', { ...AT, body: { domain: 'acme' } })).json, {
    code: 'invalid_parameter',
  });
});

t.test('a body that is held back for its size is not taken in: anybody may ask', async t => {
  const rest = new RestHarness();
  const answer = await rest.service.handle({
    ...{ method: 'POST', host: 'accounts.tasks.test', path: '/', query: '', headers: {} },
    remoteAddress: '192.0.2.1',
    body: new Uint8Array(0),
    gone: new AbortController().signal,
    takeBody: () => t.fail('it is left with the caller') as never,
  });
  t.match(answer, { status: 413, body: /body_too_large.*too large/ });
});
