import t from 'tap';
import { describeRuleFault } from '../../../../src/rules/rule-set.ts';
import { compiled, entryFile, faultsOf, load, loadEntry, refusal } from './rule-text.ts';

const LIMIT = 'rate_limit: {unit: minute, requests_per_unit: 100}';

/** The quota of a rule with this text as its `quota`. */
function quotaOf(text: string) {
  return loadEntry(`key: k\nquota: ${text}\n${LIMIT}`).quota;
}

t.test('a quota has a share of the limit and a time, which have defaults', async t => {
  const cases = {
    '{share: 80%, for: 20s}': { share: 8_000, forS: 20 },
    '{share: 1%, for: 2s}': { share: 100, forS: 2 },
    '{share: "100%", for: 5m}': { share: 10_000, forS: 300 },
    '{share: 12.5%}': { share: 1_250, forS: 10 },
    '{for: 300s, share: ~}': { share: 10_000, forS: 300 },
    '{}': { share: 10_000, forS: 10 },
  };
  for (const [text, quota] of Object.entries(cases)) t.strictSame(quotaOf(text), quota, text);
  for (const text of ['', '~', 'null']) t.equal(quotaOf(text), undefined, 'nothing is written');
  t.equal(loadEntry(`key: k\n${LIMIT}`).quota, undefined);
});

t.test('a quota belongs to all limits of its rule, and changes nothing of them', async t => {
  const limits = `rate_limits:
  - {unit: minute, requests_per_unit: 1}
  - {window: 5m, requests_per_unit: 2, algorithm: token_bucket, quota_mode: true}`;
  const [written, without] = [`quota: {share: 50%}\n${limits}`, limits].map(text =>
    compiled(entryFile(`key: k\n${text}`)),
  );
  for (const limit of [0, 1]) {
    t.strictSame(written.quotaOf(limit), { share: 5_000, forS: 10 });
    t.equal(without.quotaOf(limit), null);
  }
  const plain = `key: k\n${LIMIT}`;
  t.strictSame(loadEntry(`${plain}\nquota: {share: 50%}`).limits, loadEntry(plain).limits);
});

t.test('a faulty quota is refused with its place', async t => {
  const cases: Record<string, readonly [at: string, message: string]> = {
    '{share: 0.5%}': ['0.5', '0.5% is too little to be divided: write a share from 1% to 100%'],
    '{share: 100.01%}': ['100.01', '100.01% is more than the whole limit: write a share from 1% to 100%'],
    '{share: 80}': ['80', '"80" is not a share of the limit: write `80%`'],
    '{share: 0.8}': ['0.8', '"0.8" is not a share of the limit: write `80%`'],
    '{share: most}': [
      'most',
      '"most" is not a share of the limit: write a percentage with at most two decimals, such as `85%`',
    ],
    '{share: [80%]}': ['[80', '`share` must be text, not a list: write one value after the colon'],
    '{for: 1s}': ['1s', '1s is shorter than two seconds: write a length from 2s to 5m'],
    '{for: 6m}': ['6m', '6m is longer than five minutes: write a length from 2s to 5m'],
    '{for: 20}': ['20', '`for: 20` has no unit: write `for: 20s` for seconds'],
    '{for: soon}': [
      'soon',
      '"soon" is not a length of time: write a whole number and one of the letters s, m, h, d and w, such as `90s`, ' +
        '`5m` or `36h`',
    ],
    '{shares: 80%}': ['shares', 'unknown key `shares`; did you mean `share`? accepted here: share, for'],
    '{unit: minute}': ['unit', '`unit` belongs in `rate_limit`, not here; accepted here: share, for'],
    '80%': ['80', '`quota` must be a map, not 80%: indent its keys below it'],
  };
  for (const [text, [at, message]] of Object.entries(cases)) {
    const file = entryFile(`key: k\nquota: ${text}\n${LIMIT}`);
    const column = file.split('\n')[3].lastIndexOf(at) + 1;
    t.equal(refusal(file), `rules.yaml:4:${column}: d.k: ${message}`, text);
  }
});

t.test('a rule whose limits cannot be granted has no quota', async t => {
  const leases =
    'an entry with `reserve` or `concurrency` cannot have `quota`, because proxies that decide requests themselves take no ' +
    'leases: remove one of them';
  const cases = {
    'rate_limit: ~':
      'the entry has a `quota`, and no limit: write `rate_limit: ` and the limit of which proxies get a part, or remove ' +
      '`quota`',
    'rate_limit: {unlimited: true}':
      'an unlimited rule has no limit of which proxies could get a part: remove `quota` or `unlimited: true`',
    'rate_limit: {unit: minute, requests_per_unit: 1, reserve: {for: 1m, estimate: 2}}': leases,
    'holder: id\nrate_limit: {concurrency: {limit: 1, for: 1m}}': leases,
    'holder: id\nrate_limits: [{unit: minute, requests_per_unit: 1}, {concurrency: {limit: 1, for: 1m}}]':
      leases,
  };
  for (const [limit, message] of Object.entries(cases))
    t.equal(refusal(entryFile(`key: k\nquota: {}\n${limit}`)), `rules.yaml:4:12: d.k: ${message}`, limit);
  t.match(
    refusal(entryFile('key: k\nquota: {}\nrate_limit: 5')),
    /^rules.yaml:5:17: d.k: `rate_limit` must be a map/,
    'a faulty limit is one fault',
  );
});

t.test('a quota in the wrong place is refused', async t => {
  t.match(
    refusal(entryFile('key: k\nrate_limit: {unit: minute, requests_per_unit: 1, quota: {}}')),
    /^rules.yaml:4:54: d.k: `quota` belongs in an entry, not here; accepted here: unit, /,
  );
  t.match(
    refusal(entryFile('key: k\nrate_limits: [{unit: minute, requests_per_unit: 1, quota: {}}]')),
    /^rules.yaml:4:56: d.k: `quota` belongs in an entry, not here; /,
  );
  t.match(
    refusal('domain: d\nquota: {}'),
    'rules.yaml:2:1: d: `quota` belongs in an entry, not here; accepted here: domain, descriptors, answers, requests',
  );
});

t.test('a repeated or merged quota is merged key by key', async t => {
  const text = `key: k\n${LIMIT}\nquota: {share: 50%}\nquota: {for: 20s}`;
  const warnings: string[] = [];
  const rules = load(entryFile(text), {
    mergeDomains: false,
    onWarning: fault => warnings.push(describeRuleFault(fault)),
  });
  t.strictSame(rules.domains[0].entries[0].quota, { share: 5_000, forS: 20 });
  t.strictSame(
    warnings,
    [
      'rules.yaml:6:5: d.k: warning: `quota` is written 2 times; they are merged key by key. The result is ' +
        '`{share: 50%, for: 20s}`',
    ].map(line => line.replace(' warning:', '')),
  );
});

/** A rule of `user` below one of `plan`. */
const ONE = `  - key: plan
    value: free
    descriptors:
      - key: user
        ${LIMIT}
`;
/** The same keys in the other order. */
const OTHER = `  - key: user
    descriptors:
      - key: plan
        ${LIMIT}
`;
const RULES = `domain: d\ndescriptors:\n${ONE}${OTHER}`;
const QUOTA = `${LIMIT}\n        quota: {}`;

t.test('two rules with the same keys in different orders cannot have a quota', async t => {
  t.equal(refusal(RULES), '', 'they can be there without one');
  const fault = (line: number, path: string, own: string, other: string, otherLine: number): string =>
    `rules.yaml:${line}:16: d.${path}: a bucket with the keys of this rule, "${own}", could also be one of the rule with ` +
    `"${other}" in rules.yaml:${otherLine}, because the entries of buckets have no order: write the keys of both rules in ` +
    'the same order, or remove `quota`';
  const first = RULES.replace(LIMIT, QUOTA);
  t.equal(refusal(first), fault(8, 'plan_free.user', 'plan, user', 'user, plan', 11));
  const last = RULES.replace(OTHER, OTHER.replace(LIMIT, QUOTA));
  t.equal(refusal(last), fault(12, 'user.plan', 'user, plan', 'plan, user', 6));
  const later = `${RULES}  - key: plan\n    descriptors:\n      - key: user\n        ${QUOTA}\n`;
  t.equal(
    refusal(later),
    fault(16, 'plan.user', 'plan, user', 'user, plan', 10),
    'the first rule with these keys need not be the one with the quota',
  );
  t.equal(
    refusal(RULES.replaceAll(LIMIT, QUOTA)),
    fault(8, 'plan_free.user', 'plan, user', 'user, plan', 11),
    'once',
  );
});

t.test('each pair of orders is one fault, of the first rule with a quota', async t => {
  const pair = (one: string, other: string): string =>
    [
      [one, other],
      [one, other],
      [other, one],
    ]
      .map(
        ([above, below], i) =>
          `  - {key: ${above}, value: v${i}, descriptors: [{key: ${below}, quota: {}, ${LIMIT}}]}\n`,
      )
      .join('');
  const faults = faultsOf(`domain: d\ndescriptors:\n${pair('a', 'b')}${pair('c', 'd')}`);
  t.strictSame(
    faults.map(({ line, path }) => [line, path]),
    [
      [3, 'd.a_v0.b'],
      [6, 'd.c_v0.d'],
    ],
  );
});

t.test('the rules of one domain are compared, also those of several files', async t => {
  const one = `domain: d\ndescriptors:\n${ONE.replace(LIMIT, QUOTA)}`;
  const other = `domain: d\ndescriptors:\n${OTHER}`;
  t.match(
    refusal({ 'a.yaml': other, 'b.yaml': one }, { mergeDomains: true }),
    /^b.yaml:8:16: d.plan_free.user: .* "user, plan" in a.yaml:5, because/,
  );
  t.equal(refusal({ 'a.yaml': other.replace('domain: d', 'domain: e'), 'b.yaml': one }), '');
});

t.test('the key of a class is one of the keys', async t => {
  const classes = `  - key: user
    rate_limit: {unit: minute, requests_per_unit: 1, classes: {key: plan, gold: 100%}}
    quota: {}
`;
  t.match(
    refusal(`domain: d\ndescriptors:\n${ONE}${classes}`),
    /^rules.yaml:10:12: d.user: a bucket with the keys of this rule, "user, plan", could .* "plan, user" in rules.yaml:6/,
  );
  t.equal(refusal(`domain: d\ndescriptors:\n${classes}`), '');
});

t.test('a rule with a key on two levels cannot have a quota', async t => {
  const rules = (limit: string): string =>
    `domain: d\ndescriptors:\n  - key: a\n    descriptors:\n      - key: a\n        ${limit}\n`;
  t.equal(refusal(rules(LIMIT)), '');
  t.equal(
    refusal(rules(QUOTA)),
    'rules.yaml:7:16: d.a.a: two levels of the rule have the same key, and a bucket has each key once: use another key on ' +
      'one of them, or remove `quota`',
  );
});

t.test('a rule beyond the most orders of a domain cannot have a quota', async t => {
  const keys = Array.from({ length: 1_000 }, (_, i) => `  - {key: k${i}, ${LIMIT}}\n`).join('');
  const rules = (key: string): string =>
    `domain: d\ndescriptors:\n${keys}  - {key: ${key}, value: x, quota: {}, ${LIMIT}}\n`;
  t.equal(refusal(rules('k999')), '');
  t.equal(
    refusal(rules('k1000')),
    'rules.yaml:1003:35: d.k1000_x: the rules of the domain have more than 1000 different lists of keys, and buckets only ' +
      'match the first ones: move the rule up, or remove `quota`',
  );
});
