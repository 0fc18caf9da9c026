import t from 'tap';
import { describeRuleFault } from '../../../../src/rules/rule-set.ts';
import { entryFile, load, loadEntry, refusal } from './rule-text.ts';

/** The terms of a limit of 100 per minute with these fields. */
function termsOf(fields: string) {
  return loadEntry(`key: k\nrate_limit: {unit: minute, requests_per_unit: 100, ${fields}}`).limits[0].terms;
}

t.test('classes have a key and shares, and the lowest share is that of all others', async t => {
  const cases = {
    'key: tier, critical: 100%, sheddable: 60%': {
      key: 'tier',
      names: ['critical', 'sheddable'],
      shares: [10_000, 6_000],
      otherShare: 6_000,
    },
    'key: tier, a: 100%, b: 12.5%, c: 0.01%, d: 0%, default: 50.05%': {
      key: 'tier',
      names: ['a', 'b', 'c', 'd'],
      shares: [10_000, 1_250, 1, 0],
      otherShare: 5_005,
    },
    '1: 100%, "true": "5%", default: ~, key: x': {
      key: 'x',
      names: ['1', 'true'],
      shares: [10_000, 500],
      otherShare: 500,
    },
  };
  for (const [fields, classes] of Object.entries(cases)) {
    t.strictSame(termsOf(`classes: {${fields}}`)?.classes, classes, fields);
  }
  t.equal(termsOf('classes: ~'), null, 'a limit without classes is plain');
});

t.test(
  'a fixed window with classes has keys of its own, and other limits have the same keys as without',
  async t => {
    const tags = {
      '': '1m.classes',
      'algorithm: sliding_window,': '1m.sliding',
      'algorithm: token_bucket,': '1m.bucket',
    };
    for (const [algorithm, tag] of Object.entries(tags)) {
      t.equal(termsOf(`${algorithm} classes: {key: x, a: 100%}`)?.tag, tag);
      t.equal(
        termsOf(`${algorithm} classes: {key: y, a: 100%, b: 5%}`)?.tag,
        tag,
        'whatever the classes are',
      );
    }
  },
);

t.test('a share passes after the limit, and the keys are those of the limit without it', async t => {
  t.match(termsOf('after_limit: {admit: 10%}'), { afterLimit: 1_000, tag: '' });
  t.match(termsOf('unit_multiplier: 5, after_limit: {admit: 0.5%}'), { afterLimit: 50, tag: '5m' });
  t.match(termsOf('unit_multiplier: 5'), { afterLimit: 0, tag: '5m' });
  t.equal(termsOf('after_limit: ~'), null);
  const { limits } = loadEntry(`key: k
rate_limits:
  - {window: 1m, requests_per_unit: 5, after_limit: {admit: 99.99%}}
  - {window: 1m, requests_per_unit: 9, name: n}`);
  t.strictSame(
    limits.map(({ terms }) => [terms?.tag, terms?.afterLimit]),
    [
      ['1m', 9_999],
      ['1m.n', 0],
    ],
  );
});

/** The faults of a field of a limit that begin at a text of its value. */
function refuses(field: string, cases: Record<string, readonly [at: string, message: string]>): void {
  for (const [value, [at, message]] of Object.entries(cases)) {
    const file = entryFile(`key: k\nrate_limit: {unit: minute, requests_per_unit: 1, ${field}: ${value}}`);
    const column = file.split('\n')[3].lastIndexOf(at) + 1;
    t.equal(refusal(file), `rules.yaml:4:${column}: d.k: ${message}`, value);
  }
}

t.test('faulty classes are refused with their place', async () => {
  refuses('classes', {
    '{critical: 100%}': [
      '{critical',
      '`classes` has no `key`: write `key: ` and the key of the entry whose value is the class, such as `key: tier`',
    ],
    '{key: t*, critical: 100%}': [
      't*',
      'the `key` of `classes` is compared as a whole: write one without `*` instead of "t*"',
    ],
    '{key: tier, default: 50%}': [
      '{key',
      '`classes` has no classes: write each value of the entry and its share of the limit, such as `critical: 100%`',
    ],
    '{key: tier, critical: 85, a: 100%}': ['85', '"85" is not a share of the limit: write `85%`'],
    '{key: tier, critical: 0.85, a: 100%}': ['0.85', '"0.85" is not a share of the limit: write `85%`'],
    '{key: tier, critical: most, a: 100%}': [
      'most',
      '"most" is not a share of the limit: write a percentage with at most two decimals, such as `85%`',
    ],
    '{key: tier, critical: 33.333%, a: 100%}': [
      '33.333',
      '"33.333%" is not a share of the limit: write a percentage with at most two decimals, such as `85%`',
    ],
    '{key: tier, critical: 120%, a: 100%}': [
      '120',
      '120% is more than the whole limit: write a share from 0% to 100%',
    ],
    tier: ['tier', '`classes` must be a map, not tier: indent its keys below it'],
  });
  const many = Array.from({ length: 17 }, (_, i) => `c${i}: 100%`).join(', ');
  t.match(
    refusal(
      entryFile(`key: k\nrate_limit: {unit: minute, requests_per_unit: 1, classes: {key: t, ${many}}}`),
    ),
    'd.k: a limit has at most 16 classes, and this one has 17: remove some, and write `default: ` with the share of ' +
      'all others',
  );
});

t.test('a faulty share after the limit is refused with its place', async () => {
  refuses('after_limit', {
    '{}': [
      '{}',
      '`after_limit` has no `admit`: write `admit: ` and the share of the hits that still pass, such as `10%`',
    ],
    '{admit: 10}': ['10}', '"10" is not a share of the hits: write `10%`'],
    '{admit: 0%}': ['0%', 'with `admit: 0%` no hits pass after the limit: remove `after_limit`'],
    '{admit: 100%}': [
      '100%',
      'with `admit: 100%` or more the limit rejects nothing: write less, or `shadow_mode: true` instead of `after_limit`',
    ],
    '{admit: 10%, share: 5%}': ['share', '`share` belongs in `quota`, not here; accepted here: admit'],
    '10%': ['10%', '`after_limit` must be a map, not 10%: indent its keys below it'],
  });
});

t.test('limits that cannot have classes or a share refuse them', async t => {
  const fault = (fields: string, lines = '') =>
    refusal(entryFile(`key: k\nrate_limit: {unit: day, requests_per_unit: 1, ${fields}}\n${lines}`));
  const classes = 'classes: {key: tier, a: 100%}';
  const share = 'after_limit: {admit: 10%}';
  t.match(
    fault(`${classes}, penalty: {for: 1m}`),
    'd.k: a limit with `classes` cannot have a `penalty`, because requests of one class could close the key for all ' +
      'classes: remove one of the two',
  );
  t.match(
    fault(`${classes}, ${share}`),
    'd.k: a limit with `classes` does not count the hits that it rejects: remove `classes` or `after_limit`',
  );
  t.match(
    fault(`algorithm: token_bucket, ${share}`),
    'd.k: only fixed windows count the hits beyond the limit: remove `algorithm: token_bucket` or `after_limit`',
  );
  t.match(
    fault(`penalty: {for: 1m}, ${share}`),
    'd.k: the hits beyond the limit are violations: remove `penalty` or `after_limit`',
  );
  for (const [name, field] of [
    ['classes', classes],
    ['after_limit', share],
  ]) {
    const unlimited = refusal(entryFile(`key: k\nrate_limit: {unlimited: true, ${field}}`));
    t.match(unlimited, `d.k: an unlimited rule is not counted: remove \`${name}\` or \`unlimited: true\``);
    t.match(refusal(entryFile(`key: k\n${field}`)), `\`${name}\` belongs in \`rate_limit\``);
  }
  t.match(
    fault(classes, 'descriptors: [{key: other}, {key: tier, value: x}]'),
    'd.k: the entry "tier" cannot be both below this one and the `key` of its `classes`: use another key for one of them',
  );
});

t.test('an entry below that would match the entry of the class is refused', async t => {
  const below = (entry: string) =>
    refusal(
      entryFile(
        `key: k\nrate_limit: {unit: day, requests_per_unit: 1, classes: {key: user_tier, low: 100%}}\ndescriptors: [{${entry}}]`,
      ),
    );
  const fault = (composite: string) =>
    `rules.yaml:4:17: d.k: the entry "${composite}" below this one would match the entry that names the class, because ` +
    'keys and values are compared as one text such as "user_tier_low": use another key for one of them';
  for (const [entry, composite] of [
    ['key: user, value: "*"', 'user_*'],
    ['key: user_tier_low', 'user_tier_low'],
    ['key: user, value: tier_low', 'user_tier_low'],
    ['key: user, value: tier_l*', 'user_tier_l*'],
    ['key: user, value: "*r_l*w"', 'user_*r_l*w'],
    ['key: "*"', '*'],
  ]) {
    t.equal(below(entry), fault(composite), entry);
  }
  t.match(
    below('key: user, value: tier'),
    'the entry "user_tier" cannot be both below this one',
    'without value',
  );
  for (const entry of [
    'key: user, value: ann',
    'key: user',
    'key: users, value: "*"',
    'key: user_tiers, value: "*"',
  ]) {
    t.equal(below(entry), '', entry);
  }
});

t.test('an entry below that matches other values than the classes is a warning', async t => {
  const below = (entry: string): string[] => {
    const warnings: string[] = [];
    const rule = `key: k\nrate_limit: {unit: day, requests_per_unit: 1, classes: {key: user, low: 100%}}`;
    load(`${entryFile(`${rule}\ndescriptors: [{${entry}}]`)}`, {
      mergeDomains: false,
      onWarning: warning => warnings.push(describeRuleFault(warning)),
    });
    return warnings;
  };
  const warning = (composite: string, example: string) =>
    `rules.yaml:4:17: d.k: the entry "${composite}" below this one would match the entry that names the class, because ` +
    `keys and values are compared as one text${example}: use another key for one of them`;
  t.strictSame(below('key: user_id'), [warning('user_id', ' such as "user_id"')]);
  t.strictSame(below('key: user_i, value: "*d"'), [warning('user_i_*d', '')]);
  t.strictSame(below('key: "*", value: lowest'), [warning('*_lowest', '')]);
  t.strictSame(below('key: users, value: "*"'), []);
});

t.test('classes are refused if the counters are in memcached, and a share is not', async t => {
  const settings = { mergeDomains: false, forMemcached: true };
  const rules = (fields: string) =>
    entryFile(`key: k\nrate_limit: {unit: day, requests_per_unit: 1, ${fields}}`);
  t.equal(
    refusal(rules('classes: {key: tier, a: 100%}'), settings),
    'rules.yaml:4:60: d.k: memcached cannot count `classes`, because it cannot compare and add in one step: ' +
      'remove them, or set BACKEND_TYPE to `redis` or `memory`',
  );
  t.equal(refusal(rules('after_limit: {admit: 10%}'), settings), '');
});

t.test('equal classes of all rules are one object, so that many rules take little memory', async t => {
  const limit = 'requests_per_unit: 5, classes: {key: tier, a: 100%, b: 50%}';
  const { entries } = load(
    `domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, ${limit}}}, {key: b, rate_limits: [{window: 5m, ${limit}}]}]`,
  ).domains[0];
  const [one, other] = entries.map(entry => entry.limits[0].terms?.classes);
  t.equal(one, other);
});

t.test('classes that are written twice are merged class by class', async t => {
  const { limits } = loadEntry(`key: k
rate_limit:
  unit: minute
  requests_per_unit: 5
  classes: {key: tier, a: 100%, b: 50%}
  classes: {b: 40%}`);
  t.strictSame(limits[0].terms?.classes, {
    key: 'tier',
    names: ['a', 'b'],
    shares: [10_000, 4_000],
    otherShare: 4_000,
  });
});
