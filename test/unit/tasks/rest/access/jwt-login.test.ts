import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { makeKey } from '../../../../support/tasks/identity-provider.ts';
import { JwtScene } from '../../../../support/tasks/jwt-scene.ts';
import { problem, RestHarness } from '../../../../support/tasks/rest-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(t => JwtScene.open(t));

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('tokens signed with RS256, ES256 and EdDSA log in the user whose external_id is their subject', async (scene, t) => {
  for (const alg of ['RS256', 'ES256', 'EdDSA']) {
    const key = await scene.provider.addKey(alg);
    scene.rest.clock.advance(61_000);
    const answer = await scene.ask(await scene.provider.token(key));
    t.match(answer, { status: 200, json: { id: scene.ann, external_id: 'ann' } }, alg);
    t.same(scene.rest.limits.calls.at(-1), { tenant: 'acme', kind: 'read', user: scene.ann });
  }
  const { json } = await scene.ask(scene.owner);
  t.match(json.last_seen_at, /^2026-03-01T10:/, 'when the user was last seen is noted');
  const token = await scene.provider.token(scene.key);
  const refused = await scene.rest.ask('GET', '/api/v1/users', { token });
  t.match(refused, problem('insufficient_role'), 'with the role of the user');
});

test('each claim that is missing or wrong is named, and its value is not', async (scene, t) => {
  const { provider, key } = scene;
  const secret = 's3cret-value';
  const now = Math.floor(scene.rest.clock.nowMs() / 1_000);
  const cases: [object, RegExp][] = [
    [{ iss: undefined }, /^401 invalid_token: the token has no claim iss$/],
    [{ iss: secret }, /^401 invalid_token: the issuer \(iss\) /],
    [{ aud: undefined }, /^401 invalid_token: the token has no claim aud$/],
    [{ aud: [secret] }, /^401 invalid_token: the audience \(aud\) /],
    [{ exp: undefined }, /^401 invalid_token: the token has no claim exp$/],
    [{ exp: secret }, /^401 invalid_token: the claim exp /],
    [{ exp: now - 61 }, /^401 token_expired: the token has expired: log in again$/],
    [{ nbf: now + 61 }, /^401 invalid_token: the token is not valid yet/],
    [{ sub: undefined }, /^401 invalid_token: the token has no claim sub$/],
    [{ sub: '' }, /^401 invalid_token: the subject \(sub\) /],
    [{ sub: 5 }, /^401 invalid_token: the subject \(sub\) /],
    [{ sub: 'x'.repeat(256) }, /^401 invalid_token: the subject \(sub\) /],
    [{ sub: `${secret}\n` }, /^401 invalid_token: the subject \(sub\) /],
    [{ sub: secret }, /^401 invalid_token: No active user of this account has the subject/],
  ];
  for (const [claims, expected] of cases) {
    const told = await scene.try(await provider.token(key, { ...claims }));
    t.match(told, expected, JSON.stringify(claims));
    t.notMatch(told, secret);
  }
  for (const fine of [{ exp: now - 59 }, { nbf: now + 59 }, { aud: ['other', 'sluice-tasks'] }]) {
    t.equal(await scene.try(await provider.token(key, fine)), '200', JSON.stringify(fine));
  }
  t.same(scene.rest.logger.messages('error'), []);
});

test('a token is accepted only with a signature of the provider, by an accepted algorithm', async (scene, t) => {
  const { provider, key } = scene;
  const good = await provider.token(key);
  const [head, claims, signature] = good.split('.');
  t.equal(await scene.try(good), '200');
  const forged = encode({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'bob' });
  const invalid = /^401 invalid_token: the signature of the token is not valid$/;
  t.match(await scene.try(`${head}.${forged}.${signature}`), invalid);
  t.match(await scene.try(`${head}.${claims}.${Buffer.alloc(64, 1).toString('base64url')}`), invalid);
  t.match(await scene.try(`${head}.${claims}.AAAA`), invalid);
  const stranger = await makeKey('ES256', key.kid);
  t.match(
    await scene.try(await provider.token(stranger)),
    invalid,
    'a key of somebody else under the same kid',
  );
  const unaccepted = /^401 invalid_token: the token is not signed with RS256, ES256 or EdDSA$/;
  const hmacHead = encode({ alg: 'HS256', kid: key.kid });
  const hmac = createHmac('sha256', JSON.stringify(key.jwk))
    .update(`${hmacHead}.${claims}`)
    .digest('base64url');
  t.match(await scene.try(`${hmacHead}.${claims}.${hmac}`), unaccepted);
  t.match(await scene.try(`${encode({ alg: 'none' })}.${claims}.AAAA`), unaccepted);
  t.match(await scene.try(`${encode({ alg: 'none' })}.${claims}.`), /^401 invalid_token/);
  for (const alg of ['ES384', 'PS256', 'RS512']) {
    t.match(await scene.try(await provider.token(await makeKey(alg, 'other'))), unaccepted, alg);
  }
  const unread = /^401 invalid_token: the token cannot be read$/;
  t.match(await scene.try(`eyJ.${claims}.${signature}`), unread);
  t.match(
    await scene.try(`${encode({ alg: 'ES256', crit: ['x'], x: 1 })}.${claims}.${signature}`),
    /^401 invalid_token/,
  );
  t.match(await scene.try(`${head}.${claims}.${'A'.repeat(9_000)}`), /^401 invalid_token/, 'a long one');
  t.same(scene.rest.logger.messages('error'), []);
});

/** Counts the signatures that are verified until the test ends. */
function countVerified(t: Test): { count: number } {
  const { verify } = crypto.subtle;
  const verified = { count: 0 };
  crypto.subtle.verify = (...asked) => {
    verified.count++;
    return verify.apply(crypto.subtle, asked);
  };
  t.teardown(() => {
    crypto.subtle.verify = verify;
  });
  return verified;
}

test('each token is verified once while the keys of the provider stay the same', async (scene, t) => {
  const token = await scene.provider.token(scene.key);
  t.equal(await scene.try(token), '200');
  const verified = countVerified(t);
  for (let i = 0; i < 20; i++) t.equal(await scene.try(token), '200');
  scene.rest.clock.advance(601_000);
  t.equal(await scene.try(token), '200', 'also after the same keys were downloaded again');
  t.equal(scene.provider.downloads, 2);
  t.equal(verified.count, 0);
  t.equal(await scene.try(await scene.provider.token(scene.key, { jti: 'other' })), '200');
  t.equal(verified.count, 1);
  scene.rest.clock.advance(3_600_000 - 601_000 + 59_000);
  t.equal(await scene.try(token), '200', 'the clocks may differ');
  scene.rest.clock.advance(2_000);
  t.match(await scene.try(token), /^401 token_expired/, 'what was verified expires');
});

test('forged tokens are limited before they are verified, and lock out nobody with a right one', async (scene, t) => {
  const { provider, key } = scene;
  const old = await provider.token(key);
  t.equal(await scene.try(old), '200');
  const forger = await makeKey('ES256', key.kid);
  const forge = async (sub: string, jti: number) => scene.try(await provider.token(forger, { sub, jti }));
  const verified = countVerified(t);
  for (let i = 0; i < 50; i++) t.match(await forge(`stranger ${i}`, i), /^401 invalid_token/);
  for (let i = 0; i < 5; i++) t.match(await forge('ann', i), /^401 invalid_token/);
  t.equal(verified.count, 55);
  for (let i = 50; i < 100; i++)
    t.match(await forge(`stranger ${i}`, i), /^429 rate_limited: .* Retry in 1 s\.$/);
  t.match(await forge('ann', 5), /^429 rate_limited/);
  t.equal(verified.count, 55, 'nothing more is verified');
  t.equal(await scene.try(old), '200', 'a token that was verified before');
  scene.rest.clock.advance(1_000);
  for (let i = 100; i < 151; i++) await forge(`stranger ${i}`, i);
  t.match(await forge('stranger', 151), /^429/);
  const renewed = await provider.token(key, { jti: 'renewed' });
  t.equal(await scene.try(renewed), '200', 'a new token of somebody who has logged in before');
});

test('forged tokens that arrive at once are limited like those that arrive one after the other', async (scene, t) => {
  const forger = await makeKey('ES256', scene.key.kid);
  const tokens = await Promise.all(
    Array.from({ length: 200 }, (_, i) => scene.provider.token(forger, { sub: `stranger ${i}` })),
  );
  const verified = countVerified(t);
  const told = await Promise.all(tokens.map(token => scene.try(token)));
  t.equal(verified.count, 50);
  t.equal(told.filter(each => each.startsWith('429 rate_limited')).length, 150);
  scene.rest.clock.advance(1_000);
  const right = await Promise.all(
    Array.from({ length: 100 }, (_, jti) => scene.provider.token(scene.key, { jti })),
  );
  t.same(new Set(await Promise.all(right.map(token => scene.try(token)))), new Set(['200']));
});

test('expired tokens are neither verified nor counted as forged', async (scene, t) => {
  const exp = Math.floor(scene.rest.clock.nowMs() / 1_000) - 61;
  const verified = countVerified(t);
  for (let jti = 0; jti < 60; jti++)
    t.match(await scene.try(await scene.provider.token(scene.key, { exp, jti })), /^401 token_expired/);
  t.equal(verified.count, 0);
  t.equal(await scene.try(await scene.provider.token(scene.key)), '200');
});

test('a user who is disabled, deleted or another person is locked out at once', async (scene, t) => {
  const token = await scene.provider.token(scene.key);
  const change = async (body: object) => {
    const asked = { token: scene.owner, body };
    t.equal((await scene.rest.ask('PATCH', `/api/v1/users/${scene.ann}`, asked)).status, 200);
  };
  t.equal(await scene.try(token), '200');
  await change({ status: 'disabled' });
  t.match(await scene.try(token), /^401 invalid_token: No active user/);
  await change({ status: 'active' });
  t.equal(await scene.try(token), '200');
  await change({ role: 'admin' });
  t.equal((await scene.rest.ask('GET', '/api/v1/users', { token })).status, 200, 'the new role');
  await change({ external_id: 'bob' });
  t.match(await scene.try(token), /^401 invalid_token: No active user/);
  await change({ external_id: 'ann' });
  t.equal((await scene.rest.ask('DELETE', `/api/v1/users/${scene.ann}`, { token: scene.owner })).status, 204);
  t.match(await scene.try(token), /^401 invalid_token: No active user/);
});

t.test('a login with a lesser role than that of its user creates no token', async t => {
  const scene = await JwtScene.open(t, { rules: { roleClaim: 'role' } });
  const create = async (role: string) => {
    const token = await scene.provider.token(scene.key, { role });
    const answer = await scene.rest.ask('POST', `/api/v1/users/${scene.ann}/tokens`, { token, body: {} });
    return answer.status === 201 ? '201' : `${answer.status} ${answer.json.code}`;
  };
  t.equal(await create('viewer'), '403 insufficient_role');
  t.equal(await create('member'), '201');
  t.equal(await create('admin'), '201');
});

t.test('with a role claim the provider gives the role', async t => {
  const scene = await JwtScene.open(t, { rules: { roleClaim: 'https://acme.test/role' } });
  const list = async (role: unknown) => {
    const token = await scene.provider.token(scene.key, { 'https://acme.test/role': role });
    const { status, json } = await scene.rest.ask('GET', '/api/v1/users', { token });
    return status === 200 ? 200 : `${status} ${json.code}`;
  };
  t.equal(await list('admin'), 200);
  t.equal(await list(['viewer', 'staff', 'owner']), 200, 'the highest of several');
  t.equal(await list('viewer'), '403 insufficient_role');
  t.equal(await list(undefined), '403 insufficient_role', 'the one of the user');
  for (const role of ['staff', '', 5, [], null, ['Owner']]) {
    t.equal(await list(role), '401 invalid_token', JSON.stringify(role));
  }
});

t.test('what a user logs in for is idempotent over tokens, and is audited', async t => {
  const scene = await JwtScene.open(t, { rules: { roleClaim: 'role' } });
  const create = async (jti: string) => {
    const token = await scene.provider.token(scene.key, { jti, role: 'admin' });
    const headers = { 'idempotency-key': 'one' };
    return scene.rest.ask('POST', '/api/v1/users', { token, headers, body: { email: 'new@acme.test' } });
  };
  const first = await create('a');
  t.equal(first.status, 201);
  t.match(await create('b'), {
    status: 201,
    json: { id: first.json.id },
    headers: { 'Idempotency-Replayed': 'true' },
  });
  const audit = await scene.rest.ask('GET', '/api/v1/audit', { token: scene.owner });
  t.match(audit.body, `"actor":{"type":"user","id":"${scene.ann}"},"token_id":null`);
});

test('without a provider, JSON Web Tokens are tokens that are not valid', async (scene, t) => {
  const rest = new RestHarness();
  await rest.signUp();
  const token = await scene.provider.token(scene.key);
  t.match(await rest.ask('GET', '/api/v1/users', { token }), problem('invalid_token'));
  t.equal(scene.provider.downloads, 0);
});
