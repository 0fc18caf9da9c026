import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import t, { type Test } from 'tap';
import { claimOf } from '../../../src/mapping/claims.ts';
import { firstToken, lastToken } from '../../../src/mapping/tokens/bearer-token.ts';
import { CheckQueue } from '../../../src/mapping/tokens/check-queue.ts';
import { TokenClaims } from '../../../src/mapping/tokens/token-claims.ts';
import type { TokenRule } from '../../../src/rules/request-mapping.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

const NOW_MS = Date.UTC(2026, 10, 23);
const NOW_S = NOW_MS / 1_000;
const NAMES = ['sub', 'realm.plan', 'https://shop.example/tier', 'level', 'admin', 'list'];

const issuer = await signer('ES256', 'first');
const other = await signer('RS256', 'second');

/** Signs tokens with a key of its own. */
async function signer(alg: string, kid?: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const name = kid === undefined ? {} : { kid };
  const jwk = { ...(await exportJWK(publicKey)), ...name };
  const sign = (claims: JWTPayload, header: { readonly alg?: string } = {}): Promise<string> =>
    new SignJWT({ exp: NOW_S + 3_600, ...claims })
      .setProtectedHeader({ alg, ...name, ...header })
      .sign(privateKey);
  return { jwk, sign };
}

interface Setup {
  readonly claims: TokenClaims;
  readonly path: string;
  readonly clock: ManualClock;
  readonly log: KeepingLogger;
  /** Number of requests with an invalid token. */
  readonly invalid: () => number;
  /** The claims of a token as the header has it. */
  readonly of: (token: string) => Promise<Readonly<Record<string, unknown>> | null>;
  /** Writes keys into the file. */
  readonly write: (keys: readonly unknown[]) => void;
}

function setup(t: Test, rule: Partial<TokenRule> = {}): Setup {
  const path = join(tempDirectory(t), 'keys.json');
  const [clock, log] = [new ManualClock(NOW_MS), new KeepingLogger()];
  let invalid = 0;
  let written = 0;
  const claims = new TokenClaims(
    { header: 'authorization', jwksFile: 'keys.json', jwksPath: path, issuer: '', audience: '', ...rule },
    NAMES,
    { clock, log, checks: new CheckQueue(clock), invalid: () => invalid++ },
  );
  const write = (keys: readonly unknown[]): void => {
    writeFileSync(path, JSON.stringify({ keys }));
    // Files that are written within a tick of the clock of the file system have the same time.
    utimesSync(path, new Date(), new Date(NOW_MS + ++written));
  };
  write([issuer.jwk]);
  const of = async (token: string) => await claims.of(`Bearer ${token}`);
  return { claims, path, clock, log, invalid: () => invalid, of, write };
}

t.test('the claims of a valid token are read', async t => {
  const { of, invalid, claims } = setup(t);
  const token = await issuer.sign({
    sub: 'ann',
    realm: { plan: 'gold' },
    'https://shop.example/tier': 'a',
    level: 3,
    admin: true,
    list: ['x'],
    secret: 'not read',
  });
  t.strictSame(await of(token), {
    sub: 'ann',
    'realm.plan': 'gold',
    'https://shop.example/tier': 'a',
    level: '3',
    admin: 'true',
    list: '',
  });
  const again = claims.of(`bearer ${token}`);
  t.notOk(again instanceof Promise, 'it is remembered');
  t.equal(invalid(), 0);
});

t.test('a token that is not valid has no claims, and is counted', async t => {
  const { of, invalid } = setup(t, { issuer: 'https://id.example', audience: 'shop' });
  const good = { sub: 'ann', iss: 'https://id.example', aud: ['shop', 'x'] };
  t.match(await of(await issuer.sign(good)), { sub: 'ann' });
  const [head, body, signature] = (await issuer.sign(good)).split('.');
  const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
  const cases: Readonly<Record<string, string>> = {
    'another issuer': await issuer.sign({ ...good, iss: 'https://evil.example' }),
    'another audience': await issuer.sign({ ...good, aud: 'y' }),
    expired: await issuer.sign({ ...good, exp: NOW_S - 61 }),
    'not valid yet': await issuer.sign({ ...good, nbf: NOW_S + 61 }),
    'an unknown key': await other.sign(good),
    'the algorithm none': `${unsigned}.${body}.`,
    'the algorithm none with a signature': `${unsigned}.${body}.${signature}`,
    'other claims': `${head}.${Buffer.from('{"sub":"eve"}').toString('base64url')}.${signature}`,
    'no token': 'abc',
    'too long': `${head}.${body}.${'a'.repeat(9_000)}`,
  };
  for (const [name, token] of Object.entries(cases)) t.equal(await of(token), null, name);
  t.equal(invalid(), Object.keys(cases).length);
  t.equal(await of(''), null, 'no token');
  t.equal(invalid(), Object.keys(cases).length, 'which is not counted');
});

t.test('a key checks only tokens of its own algorithm', async t => {
  const { of, write } = setup(t);
  const [rsa, secret] = [other.jwk, { kty: 'oct', k: 'c2VjcmV0', kid: 'first', alg: 'HS256' }];
  write([{ ...rsa, alg: 'RS512' }, secret, issuer.jwk]);
  t.equal(await of(await other.sign({ sub: 'ann' })), null, 'RS256 with a key for RS512');
  const forged = await new SignJWT({ sub: 'eve' })
    .setProtectedHeader({ alg: 'HS256', kid: 'first' })
    .sign(Buffer.from('secret'));
  t.equal(await of(forged), null, 'a secret is no key');
  t.match(await of(await issuer.sign({ sub: 'ann' })), { sub: 'ann' });
});

t.test('without a kid, each key of the algorithm is tried', async t => {
  const [first, second, unknown] = await Promise.all([signer('RS256'), signer('RS256'), signer('RS256')]);
  const { of, write } = setup(t);
  write([first.jwk, second.jwk]);
  t.match(await of(await first.sign({ sub: 'ann' })), { sub: 'ann' });
  t.match(await of(await second.sign({ sub: 'bob' })), { sub: 'bob' });
  t.equal(await of(await unknown.sign({ sub: 'eve' })), null);
  t.equal(await of(await second.sign({ sub: 'bob', exp: NOW_S - 100 })), null, 'expired');
});

t.test('a key that cannot be read is ignored', async t => {
  const { of, write, log, path } = setup(t);
  const broken = { ...issuer.jwk, x: 'AAAA' };
  write([broken, other.jwk]);
  t.match(await of(await other.sign({ sub: 'ann' })), { sub: 'ann' });
  t.equal(await of(await issuer.sign({ sub: 'ann' })), null);
  const none = setup(t);
  none.write([broken]);
  t.equal(await none.of(await issuer.sign({ sub: 'ann' })), null);
  t.match(none.log.lines, [
    { fields: { reason: 'the key set has no public key for signatures that can be read' } },
  ]);
  t.match(log.lines, [{ level: 'warning', fields: { file: path, reason: 'ERR_JOSE_ALG_NOT_ALLOWED' } }]);
});

t.test('the log says why tokens are not valid, once for each reason and key set', async t => {
  const { of, log, path, write, clock } = setup(t, { issuer: 'https://id.example' });
  const good = { iss: 'https://id.example', sub: 'secret-name' };
  const [head, body, signature] = (await issuer.sign(good)).split('.');
  const check = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      t.equal(await of(await issuer.sign({ ...good, iss: `https://${i}.example` })), null);
      t.equal(await of(await issuer.sign({ ...good, exp: NOW_S - 100 - i })), null);
      t.equal(await of(`${head}.${body}.${signature.slice(0, -4)}AAA${'ABC'[i]}`), null);
    }
  };
  await check();
  const reasons = (): unknown[] => log.lines.map(({ fields }) => fields?.['reason']);
  t.same(reasons(), [
    'ERR_JWT_CLAIM_VALIDATION_FAILED iss',
    'ERR_JWT_EXPIRED exp',
    'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  ]);
  t.match(log.lines[0], { level: 'warning', fields: { file: path } });
  write([issuer.jwk, other.jwk]);
  clock.advance(2_000);
  await check();
  t.equal(log.lines.length, 6, 'a change of the keys can have another mistake');
  t.notMatch(JSON.stringify(log.lines), /secret-name|eyJ/);
});

t.test('tokens that expire are not remembered any longer', async t => {
  const { of, clock } = setup(t);
  const token = await issuer.sign({ sub: 'ann', exp: NOW_S + 30 });
  t.match(await of(token), { sub: 'ann' });
  clock.advance(89_000);
  t.match(await of(token), { sub: 'ann' }, 'clocks may differ by a minute');
  clock.advance(2_000);
  t.equal(await of(token), null);
});

t.test('keys can be rotated without a restart', async t => {
  const { of, clock, write, path, log } = setup(t);
  const [first, second] = [await issuer.sign({ sub: 'ann' }), await other.sign({ sub: 'bob' })];
  t.match(await of(first), { sub: 'ann' });
  t.equal(await of(second), null);
  write([other.jwk]);
  clock.advance(2_000);
  t.match(await of(await other.sign({ sub: 'eve' })), { sub: 'eve' });
  t.match(await of(second), { sub: 'bob' }, 'it is not remembered as invalid');
  t.equal(await of(first), null, 'also tokens that are remembered');
  rmSync(path);
  clock.advance(2_000);
  t.match(await of(await other.sign({ sub: 'cem' })), { sub: 'cem' }, 'without the file, the keys stay');
  const ofFile = (): unknown => log.lines.filter(({ level }) => level !== 'warning');
  t.match(ofFile(), [
    {
      level: 'error',
      message: 'Could not use the keys of tokens; the previous keys stay active',
      fields: { file: path },
    },
  ]);
  write([other.jwk]);
  clock.advance(2_000);
  t.match(await of(await other.sign({ sub: 'dan' })), { sub: 'dan' });
  t.match(ofFile(), [{}, { level: 'info', message: 'The keys of tokens can be used again' }]);
});

t.test('tokens stay known if the file is written with the same keys', async t => {
  const { claims, of, clock, write } = setup(t);
  write([issuer.jwk, other.jwk]);
  const token = await issuer.sign({ sub: 'ann' });
  t.match(await of(token), { sub: 'ann' });
  write([other.jwk, issuer.jwk]);
  clock.advance(2_000);
  t.match(await of(await issuer.sign({ sub: 'bob' })), { sub: 'bob' }, 'the file is read again');
  t.notOk(claims.of(`Bearer ${token}`) instanceof Promise);
});

t.test('files without keys are reported once', async t => {
  for (const [content, reason] of [
    ['keys', 'the key set is not JSON'],
    ['{}', 'the key set has no array "keys"'],
    [
      '{"keys":[{"kty":"oct","k":"x"},1,null]}',
      'the key set has no public key for signatures that can be read',
    ],
    [JSON.stringify({ keys: Array(101).fill({}) }), 'the key set has 101 keys, and may have 100'],
    [' '.repeat(300_000), 'it has more than 262144 bytes'],
  ]) {
    const { of, path, log, invalid } = setup(t);
    writeFileSync(path, content);
    for (const sub of ['a', 'b']) t.equal(await of(await issuer.sign({ sub })), null);
    t.match(log.lines, [
      {
        level: 'error',
        message: 'Could not use the keys of tokens; tokens are treated as invalid',
        fields: { file: path, reason },
      },
    ]);
    t.equal(invalid(), 2);
  }
});

t.test('tokens can be read without a check, if the proxy has checked them', async t => {
  const { claims, invalid } = setup(t, { jwksFile: '', jwksPath: '' });
  const token = await other.sign({ sub: 'ann', realm: { plan: 'gold' } });
  const read = claims.of(token);
  t.notOk(read instanceof Promise);
  t.equal(claimOf(read as Record<string, unknown>, 'realm.plan'), 'gold');
  for (const text of ['Bearer a.b.c', 'eyJ.W10.x', 'eyJ.bnVsbA.x']) t.equal(claims.of(text), null, text);
  t.equal(invalid(), 3);
  t.equal(claimOf(claims.of(`Bearer eyJ.W10.x,Bearer ${token}`) as Record<string, unknown>, 'sub'), 'ann');
});

t.test('requests with the same token wait for one check', async t => {
  const { claims } = setup(t);
  const token = `Bearer ${await issuer.sign({ sub: 'ann' })}`;
  const both = await Promise.all([claims.of(token), claims.of(token)]);
  t.equal(both[0], both[1]);
});

t.test('many valid tokens at once are all accepted', async t => {
  const { claims, invalid } = setup(t);
  const tokens = await Promise.all(Array.from({ length: 198 }, (_, i) => issuer.sign({ sub: String(i) })));
  const read = await Promise.all(tokens.map(token => claims.of(`Bearer ${token}`)));
  t.same(
    read.map(one => one?.['sub']),
    tokens.map((_, i) => String(i)),
  );
  t.equal(invalid(), 0);
});

t.test('of a header with several tokens, the first or the last valid one counts', async t => {
  const { claims, invalid } = setup(t);
  const [ann, bob] = [await issuer.sign({ sub: 'ann' }), await issuer.sign({ sub: 'bob' })];
  const forged = await other.sign({ sub: 'eve' });
  for (const header of [
    `Bearer ${ann},x`,
    `x,Bearer ${ann}`,
    `Basic YTpi,Bearer ${ann}`,
    `Bearer ${forged},Bearer ${ann}`,
    `Bearer ${ann},Bearer ${forged}`,
    `Bearer ${ann},Bearer ${bob}`,
    `Bearer ${forged},Bearer ${forged},Bearer ${ann}`,
  ])
    for (const when of ['first', 'again'])
      t.match(await claims.of(header), { sub: 'ann' }, `${header} ${when}`);
  t.equal(invalid(), 0);
  t.equal(await claims.of(`Bearer ${forged},Bearer ${forged}.`), null);
  t.equal(invalid(), 1, 'a request is counted once');
});

t.test('credentials of another scheme are no token, and not counted as an invalid one', async t => {
  const { claims, invalid } = setup(t);
  for (const header of [
    'Basic YTpi',
    'Digest username="a", realm="b"',
    'Negotiate YTpi',
    ',',
    'Bearer',
    'Bearer\t',
  ])
    t.equal(claims.of(header), null, header);
  t.equal(invalid(), 0);
});

t.test('a bearer token has the form of a signed token', async t => {
  const token = 'eyJhIjoxfQ.eyJhIjoxfQ.abc';
  for (const text of [
    token,
    `Bearer ${token}`,
    `bEARER   ${token} `,
    `Bearer\t${token}\t`,
    `Bearer \t ${token}`,
    `\tBearer ${token}`,
  ])
    t.equal(firstToken(text), token, JSON.stringify(text));
  for (const text of ['', 'Bearer ', 'Basic YTpi']) t.equal(firstToken(text), '', text);
  for (const text of ['abc', 'a.b.c', 'Bearer abc', `${token}.d`, `Basic YTpi,${token}.d`])
    t.equal(firstToken(text), null, text);
  const list = `x,Bearer ${token}1,Bearer ${token}2,Bearer ${token}3, Basic YTpi`;
  t.equal(firstToken(list), `${token}1`);
  t.equal(lastToken(list), `${token}3`);
});
