import { createHash } from 'node:crypto';
import t from 'tap';
import { loadRuleSet } from '../../../src/rules/parse/load.ts';
import { ruleDigest, shortDigest } from '../../../src/rules/rule-digest.ts';

/** The digest of files with these texts. */
function digestOf(...texts: readonly string[]): string {
  const files = texts.map((text, i) => ({ name: `${i}.yaml`, content: Buffer.from(text) }));
  return ruleDigest(loadRuleSet(files, { mergeDomains: true }));
}

const SHOP = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: path
    value: /checkout
    metadata: {team: cart, tier: 1}
    descriptors:
      - key: partner
        rate_limit: {unit: hour, requests_per_unit: 100, name: partners}
`;
const OTHER =
  'domain: other\ndescriptors:\n  - key: a\n    rate_limit: {unit: second, requests_per_unit: 1}\n';

t.test('a digest has 64 hex digits, and is the same in every version', async t => {
  t.equal(digestOf(SHOP), '980ee6458fc81cfcee9e251d5b416b0cc5df7e6ab14bce693919b1d7044e3b32');
  const sliding = 'unit: minute, algorithm: sliding_window';
  t.equal(
    digestOf(SHOP.replace('unit: minute', sliding)),
    '76a49e99f25c1aae04a66ccd2b6af08ef338de0cfda86fa7697ffd37723e4e5c',
  );
  t.equal(digestOf(), createHash('sha256').digest('hex'), 'without rules');
  t.match(digestOf(SHOP), new RegExp(`^${shortDigest(digestOf(SHOP))}`));
  t.equal(shortDigest(digestOf(SHOP)).length, 16);
});

t.test('the order of files, domains and entries, comments, spelling and places do not change it', async t => {
  t.equal(digestOf(OTHER, SHOP), digestOf(SHOP, OTHER));
  t.equal(digestOf(`# a comment\n\n\n${SHOP}`), digestOf(SHOP));
  const other = `"domain": 'shop'
descriptors:
- {key: path, value: "/checkout", metadata: {tier: 1, "team": cart}, descriptors: [
    {key: partner, rate_limit: {name: partners, requests_per_unit: 0x64, unit: HOUR}}]}
- {value: "", key: user, shadow_mode: false, rate_limit: {requests_per_unit: 5, unit: minute, unlimited: false}}
`;
  t.equal(digestOf(other), digestOf(SHOP));
  const user = SHOP.replace(/ {2}- key: path.*/s, '');
  const path = SHOP.replace(/ {2}- key: user.*(?= {2}- key: path)/s, '');
  t.equal(digestOf(user, path), digestOf(SHOP), 'divided into two files of one domain');
  t.equal(digestOf(path, user), digestOf(SHOP));
});

/** What a change of the rules above, or of parts that they do not have, makes of them. */
const CHANGES: Readonly<Record<string, readonly [from: string, to: string]>> = {
  'the name of a domain': ['domain: shop', 'domain: shops'],
  'a key': ['key: user', 'key: users'],
  'a value': ['/checkout', '/check'],
  'no value': ['    value: /checkout\n', ''],
  'a number': ['requests_per_unit: 5', 'requests_per_unit: 6'],
  'a number of 0': ['requests_per_unit: 5', 'requests_per_unit: 0'],
  'a unit': ['minute', 'hour'],
  'an unlimited rule': ['unit: minute, requests_per_unit: 5', 'unlimited: true'],
  'no limit': ['    rate_limit: {unit: minute, requests_per_unit: 5}\n', ''],
  'shadow mode': ['value: /checkout', 'value: /checkout\n    shadow_mode: true'],
  'quota mode': ['value: /checkout', 'value: /checkout\n    quota_mode: true'],
  'a detailed metric': ['value: /checkout', 'value: /checkout\n    detailed_metric: true'],
  'a value in metrics': ['value: /checkout', 'value: /checkout\n    value_to_metric: true'],
  'the name of a limit': ['name: partners', 'name: partner'],
  'a replaced limit': ['name: partners', 'name: partners, replaces: [{name: a}]'],
  'a window': ['unit: minute', 'window: 5m'],
  'an algorithm': ['unit: minute', 'unit: minute, algorithm: sliding_window'],
  'a burst': ['unit: minute', 'unit: minute, algorithm: token_bucket, burst: 9'],
  'a calendar': ['unit: hour', 'calendar: {period: month}'],
  'a penalty': ['unit: minute', 'unit: minute, penalty: {after: 2, for: 1h}'],
  'a scale': ['unit: minute', 'unit: minute, scale: 10'],
  'an estimate': ['unit: minute', 'unit: minute, reserve: {for: 1m, estimate: 5}'],
  'another estimate': ['unit: minute', 'unit: minute, reserve: {for: 1m, estimate: 6}'],
  'a holder': [
    'rate_limit: {unit: minute,',
    'holder: id\n    rate_limit: {reserve: {for: 1m, estimate: 5}, unit: minute,',
  ],
  'the share of a quota': ['key: user', 'key: user\n    quota: {share: 80%}'],
  'another share of a quota': ['key: user', 'key: user\n    quota: {share: 70%}'],
  'the time of a quota': ['key: user', 'key: user\n    quota: {for: 20s}'],
  'several limits': [
    'rate_limit: {unit: minute, requests_per_unit: 5}',
    'rate_limits: [{unit: minute, requests_per_unit: 5}]',
  ],
  metadata: ['tier: 1', 'tier: 2'],
  'an empty value in metadata': ['tier: 1', 'tier: 0'],
  'less metadata': [', tier: 1', ''],
  'the type of metadata': ['tier: 1', 'tier: "1"'],
  'a list in metadata': ['tier: 1', 'tier: [1]'],
  'an entry more': ['descriptors:\n', 'descriptors:\n  - key: more\n'],
  'an entry less': ['  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 5}\n', ''],
  answers: ['descriptors:\n', 'answers: {retry_after: true}\ndescriptors:\n'],
  'answers that are disabled': ['descriptors:\n', 'answers: {retry_after: false}\ndescriptors:\n'],
};

t.test('each change of what the rules say changes it', async t => {
  const known = new Map([[digestOf(SHOP), 'no change']]);
  for (const [change, [from, to]] of Object.entries(CHANGES)) {
    t.ok(SHOP.includes(from), change);
    const digest = digestOf(SHOP.replace(from, to));
    t.notOk(known.has(digest), `${change} is different from ${known.get(digest)}`);
    known.set(digest, change);
  }
});

t.test('what becomes of requests changes it, and the folder of the rule file does not', async t => {
  const digest = (requests: string, folder = 'config'): string => {
    const content = Buffer.from(`${SHOP}requests: {${requests}}\n`);
    return ruleDigest(loadRuleSet([{ name: `/${folder}/shop.yaml`, content }], { mergeDomains: false }));
  };
  const descriptors = 'descriptors: [[{key: a, claim: sub}, {key: b, path: true}]]';
  const requests = `token: {jwks_file: keys.json}, ${descriptors}`;
  t.equal(digest(requests, 'other'), digest(requests));
  t.equal(digest(`on_failure: allow, client_address: {trusted_proxies: 1}, ${requests}`), digest(requests));
  const changes = [
    requests.replace('keys.json', 'other.json'),
    requests.replace('sub', 'name'),
    requests.replace('path: true', 'host: true'),
    requests.replace('path: true', 'path: true, default: x'),
    'token: {jwks_file: keys.json}, descriptors: [[{key: b, path: true}, {key: a, claim: sub}]]',
    `on_failure: deny, ${requests}`,
    `client_address: {trusted_proxies: 0}, ${requests}`,
    `client_address: {header: forwarded}, ${requests}`,
  ];
  t.equal(new Set([digestOf(SHOP), digest(requests), ...changes.map(each => digest(each))]).size, 10);
});

t.test('a quota that says what is the case without it does not change it', async t => {
  for (const quota of ['{}', '{share: 100%}', '{for: 10s}', '~'])
    t.equal(digestOf(SHOP.replace('key: user', `key: user\n    quota: ${quota}`)), digestOf(SHOP), quota);
});

t.test('the order of wildcards changes it, because the first that matches decides', async t => {
  const level = (...values: readonly string[]) =>
    `domain: d\ndescriptors:\n${values.map(value => `  - {key: k, value: "${value}", rate_limit: {unit: day, requests_per_unit: 1}}\n`).join('')}`;
  t.not(digestOf(level('a*', 'ab*')), digestOf(level('ab*', 'a*')));
  t.equal(digestOf(level('a*', 'x', 'ab*')), digestOf(level('x', 'a*', 'ab*')));
});

t.test('the order of classes and of replaced limits does not change it', async t => {
  const classes = (text: string) =>
    digestOf(SHOP.replace('unit: minute', `unit: minute, classes: {${text}}`));
  t.equal(
    classes('key: tier, low: 50%, high: 100%, none: 0%'),
    classes('none: 0%, high: 100%, key: tier, low: 50%'),
  );
  t.not(classes('key: tier, low: 50%, high: 100%'), classes('key: tier, low: 100%, high: 50%'));
  const replaces = (...names: readonly string[]) =>
    digestOf(
      SHOP.replace(
        'name: partners',
        `name: partners, replaces: [${names.map(name => `{name: ${name}}`).join(', ')}]`,
      ),
    );
  t.equal(replaces('a', 'b', 'a'), replaces('b', 'a'));
  t.not(replaces('a', 'b'), replaces('a'));
});

t.test('what an overlay makes of rules has the digest of rules that are written so', async t => {
  const overlay = (text: string) => {
    const changes = { name: 'overlay.yaml', content: Buffer.from(text), format: 'overlay' } as const;
    const rules = { name: 'shop.yaml', content: Buffer.from(SHOP) };
    return ruleDigest(loadRuleSet([changes, rules], { mergeDomains: false }));
  };
  const changed = 'overlay: [{domain: shop, path: user, shadow_mode: true}]';
  t.equal(overlay(changed), digestOf(SHOP.replace('key: user', 'key: user\n    shadow_mode: true')));
  t.equal(overlay(`# A comment.\n${changed}`), overlay(changed));
  t.not(overlay(changed), digestOf(SHOP));
  t.equal(overlay('overlay: [{domain: shop, path: user, shadow_mode: false}]'), digestOf(SHOP));
});

t.test('what is long is hashed in parts', async t => {
  const many = (last: number) =>
    digestOf(
      `domain: d\ndescriptors:\n${Array.from(
        { length: 3_000 },
        (_, i) =>
          `  - {key: key-${i}, rate_limit: {unit: day, requests_per_unit: ${i < 2_999 ? 1 : last}}}\n`,
      ).join('')}`,
    );
  t.equal(many(1), many(1));
  t.not(many(1), many(2));
});
