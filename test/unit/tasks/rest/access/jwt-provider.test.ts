import t from 'tap';
import { HOUR_MS, MINUTE_MS } from '../../../../../src/base/clock.ts';
import { JwtScene } from '../../../../support/tasks/jwt-scene.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(t => JwtScene.open(t));

const UNAVAILABLE =
  /^503 identity_unavailable: the keys of the identity provider cannot be downloaded\. Retry/;
const UNKNOWN_KEY = /^401 invalid_token: the key \(kid\) of the token is not among those of the provider$/;

test('keys are downloaded when they are needed, for all calls together, and again after ten minutes', async (scene, t) => {
  const { provider, key, rest } = scene;
  t.equal(provider.downloads, 0, 'nobody has logged in');
  const calls = Array.from({ length: 20 }, async (_, i) =>
    scene.try(await provider.token(key, { jti: `${i}` })),
  );
  t.same(new Set(await Promise.all(calls)), new Set(['200']));
  t.equal(provider.downloads, 1);
  rest.clock.advance(10 * MINUTE_MS - 1);
  t.equal(await scene.try(await provider.token(key)), '200');
  t.equal(provider.downloads, 1);
  rest.clock.advance(1);
  t.equal(await scene.try(await provider.token(key)), '200');
  t.equal(provider.downloads, 2);
});

test('a new key is found at once, and strangers cause one download a minute', async (scene, t) => {
  const { provider, key, rest } = scene;
  t.equal(await scene.try(await provider.token(key)), '200');
  rest.clock.advance(MINUTE_MS);
  const next = await provider.addKey('RS256');
  t.equal(await scene.try(await provider.token(next)), '200');
  t.equal(provider.downloads, 2);
  for (let i = 0; i < 10; i++) {
    t.match(await scene.try(await provider.token(key, {}, { kid: `unknown-${i}` })), UNKNOWN_KEY);
  }
  t.equal(provider.downloads, 2, 'the last one is less than a minute ago');
  rest.clock.advance(MINUTE_MS);
  for (let i = 0; i < 10; i++) {
    t.match(await scene.try(await provider.token(key, {}, { kid: `unknown-${i}` })), UNKNOWN_KEY);
  }
  t.equal(provider.downloads, 3);
  t.match(
    await scene.try(await provider.token(key, {}, { kid: undefined })),
    '200',
    'the only key for ES256',
  );
  await provider.addKey('ES256');
  rest.clock.advance(10 * MINUTE_MS);
  t.match(await scene.try(await provider.token(key, {}, { kid: undefined })), UNKNOWN_KEY, 'it could be two');
});

test('tokens of a key that was withdrawn are not accepted any more, also those verified before', async (scene, t) => {
  const { provider, key, rest } = scene;
  const token = await provider.token(key);
  t.equal(await scene.try(token), '200');
  const next = await provider.addKey();
  provider.withdraw(key);
  rest.clock.advance(10 * MINUTE_MS);
  t.match(await scene.try(token), UNKNOWN_KEY);
  t.equal(await scene.try(await provider.token(next)), '200');
});

test('while the provider is down, the last keys count for a day, and none is waited for', async (scene, t) => {
  const { provider, key, rest } = scene;
  const long = { exp: Math.floor(rest.clock.nowMs() / 1_000) + 100 * 3_600 };
  const token = await provider.token(key, long);
  t.equal(await scene.try(token), '200');
  provider.answer = response => response.writeHead(500).end();
  rest.clock.advance(HOUR_MS);
  t.equal(await scene.try(token), '200');
  rest.clock.advance(22 * HOUR_MS);
  t.equal(await scene.try(await provider.token(key)), '200', 'other tokens, too');
  // From now on it does not answer at all, which nobody notices.
  provider.answer = () => {};
  rest.clock.advance(MINUTE_MS);
  t.equal(await scene.try(token), '200');
  rest.clock.advance(5_000);
  rest.clock.advance(HOUR_MS);
  const late = scene.try(token);
  await new Promise(resolve => setImmediate(resolve));
  rest.clock.advance(5_000);
  t.match(await late, UNAVAILABLE, 'the last keys are a day old');
  const { headers } = await scene.ask(token);
  t.equal(headers['Retry-After'], '5');
  t.equal((await scene.ask(scene.owner)).status, 200, 'tokens of the service do not need it');
  provider.answer = null;
  rest.clock.advance(5_000);
  t.equal(await scene.try(token), '200');
  t.same(
    rest.logger.lines.filter(({ level }) => level === 'warning'),
    [
      {
        level: 'warning',
        message:
          'Identity provider: keys could not be downloaded; the last ones are used for up to 24h, then JWT logins fail',
        fields: { error: 'the answer has status 500, not 200' },
      },
      { level: 'warning', message: 'Identity provider: keys downloaded again', fields: {} },
    ],
    'two lines for the whole outage',
  );
});

t.test('answers that are no key set are not used, and say why in the log', async t => {
  const keys = (list: unknown) => JSON.stringify({ keys: list });
  const oct = { kty: 'oct', k: 'c2VjcmV0', kid: 'key-1' };
  const cases: [string, number, string, RegExp][] = [
    ['a redirect', 302, '', /status 302/],
    ['not found', 404, keys([]), /status 404/],
    ['no JSON', 200, '<html>', /the key set is not JSON/],
    ['no object', 200, 'null', /no array "keys"/],
    ['no list', 200, '{"keys":{}}', /no array "keys"/],
    ['too many keys', 200, keys(Array(101).fill(oct)), /101 keys, and may have 100/],
    [
      'no usable key',
      200,
      keys([oct, 5, null, { kty: 'RSA', n: 'A'.repeat(700), e: 'AQAB' }]),
      /no key for RS256/,
    ],
    ['too large', 200, keys([{ kid: 'x'.repeat(300_000) }]), /size/],
  ];
  for (const [name, status, body, reason] of cases) {
    const scene = await JwtScene.open(t);
    scene.provider.answer = response => {
      response.writeHead(status, { location: `${scene.provider.url}?moved` }).end(body);
    };
    t.match(await scene.try(await scene.provider.token(scene.key)), UNAVAILABLE, name);
    t.equal(scene.provider.downloads, 1, `${name}: nothing is followed`);
    t.match(String(scene.rest.logger.lines[0].fields['error']), reason, name);
    t.match(await scene.try(await scene.provider.token(scene.key)), UNAVAILABLE, name);
    t.equal(scene.provider.downloads, 1, `${name}: not for each call`);
    scene.provider.answer = null;
    scene.rest.clock.advance(5_000);
    t.equal(await scene.try(await scene.provider.token(scene.key)), '200', `${name}: it is back`);
  }
});

test('a download ends after five seconds', async (scene, t) => {
  const { provider, rest, key } = scene;
  const asked = Promise.withResolvers<void>();
  provider.answer = response => {
    response.writeHead(200).write('{"keys":');
    asked.resolve();
  };
  const answer = scene.try(await provider.token(key));
  await asked.promise;
  t.same(rest.clock.pendingDelaysMs, [5_000]);
  rest.clock.advance(5_000);
  t.match(await answer, UNAVAILABLE);
  t.match(rest.logger.lines[0].fields, { error: 'no complete response within 5000 ms' });
  t.equal(rest.clock.pending, 0);
});

test('unusable or damaged keys leave the others usable', async (scene, t) => {
  const { provider, key } = scene;
  const damaged = await provider.addKey();
  provider.keys = [
    { kty: 'oct', k: 'c2VjcmV0' },
    { kty: 'EC', crv: 'P-521', x: 'AA', y: 'AA', kid: 'large' },
    { ...damaged.jwk, x: 'AAAA' },
    { ...key.jwk, use: 'enc', kid: 'encrypts' },
    key.jwk,
  ];
  t.equal(await scene.try(await provider.token(key)), '200');
  t.match(
    await scene.try(await provider.token(damaged)),
    /^401 invalid_token: the key \(kid\) of the token is damaged/,
  );
  t.match(await scene.try(await provider.token(key, {}, { kid: 'encrypts' })), UNKNOWN_KEY);
  t.same(scene.rest.logger.messages('error'), []);
});
