import t, { type Test } from 'tap';
import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { LIMIT } from '../../../../src/rules/layout.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { definitionOf } from '../../../../src/rules/words/definition.ts';
import { dumpRules } from '../../../../src/rules/words/dump.ts';
import { encodeConfig, hourly } from '../../../support/xds-messages.ts';
import { compiled, type RuleText } from '../parse/rule-text.ts';

function merged(text: RuleText): CompiledRules {
  return compiled(text, { mergeDomains: true });
}

/** All that a limit says and counts. */
function saidBy(rules: CompiledRules, limit: number): unknown {
  const textOf = (field: number): string =>
    rules.text(rules.limit(limit, field), rules.limit(limit, field + 1));
  const terms = rules.limit(limit, LIMIT.terms);
  return {
    line: [...dumpRules(rules)].filter(line => line.startsWith(`${rules.path(limit)}: `)),
    json: textOf(LIMIT.json),
    metadata: textOf(LIMIT.metadata),
    path: textOf(LIMIT.path),
    flags: rules.limit(limit, LIMIT.flags),
    terms: terms === 0 ? null : rules.terms(terms - 1),
    replaces: rules.limit(limit, LIMIT.replaceCount),
    siblings: rules.limit(limit, LIMIT.siblings),
  };
}

/** Every definition, read as a rule file, is the same limit. */
function meansTheSame(t: Test, text: RuleText): void {
  const rules = merged(text);
  t.ok(rules.limitCount > 0);
  for (let limit = 0; limit < rules.limitCount; limit++) {
    const path = rules.path(limit);
    const { text: definition } = definitionOf(rules, limit);
    const again = merged(definition);
    const own = Array.from({ length: again.limitCount }, (_, i) => i).find(i => again.path(i) === path);
    t.not(own, undefined, `${path} is in its definition`);
    t.same(saidBy(again, own!), saidBy(rules, limit), path);
    t.equal(definitionOf(again, own!).text, definition, `${path} is written in the same way again`);
  }
}

t.test('conditions and groupings are part of the definition', async t => {
  const limit = 'rate_limit: {unit: minute, requests_per_unit: 20}';
  const rules = `domain: shop
descriptors:
  - {key: ip, cidr: [10.0.0.0/8, '2001:db8::/32'], group_by: {prefix: 24}, ${limit}}
  - {key: ip, not: {in: [a, B], matches: '^x"', ignore_case: true, range: {from: 1}}, ${limit}}
  - {key: path, group_by: {segments: 2}, ${limit}}
  - {key: plan, value: Gold, ignore_case: true, ${limit}}
  - {key: status, range: {from: 400, to: 499}, share_threshold: true, ${limit}}
`;
  meansTheSame(t, rules);
  t.equal(
    definitionOf(merged(rules), 0).text,
    `domain: shop
descriptors:
  - key: ip
    cidr: ["10.0.0.0/8", "2001:db8::/32"]
    group_by: { prefix: 24 }
    rate_limit:
      unit: minute
      requests_per_unit: 20
`,
  );
});

t.test('a limit is defined by its entry and the entries above', async t => {
  const rules = merged(`# the shop
domain: shop
descriptors:
  - key: other
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: tenant
    value: acme
    rate_limit: {unit: hour, requests_per_unit: 1000}
    descriptors:
      # a comment
      - key: user
        shadow_mode: true
        rate_limit: {unit: MINUTE, requests_per_unit: 20, name: per_user, replaces: [{name: per_shop}]}
        descriptors:
          - key: path
            rate_limit: {unit: second, requests_per_unit: 5}
`);
  t.same(definitionOf(rules, 2), {
    entries: [
      { key: 'tenant', value: 'acme' },
      { key: 'user', value: '' },
    ],
    place: { file: 'rules.yaml', line: 11 },
    resource: null,
    overlay: null,
    text: `domain: shop
descriptors:
  - key: tenant
    value: acme
    descriptors:
      - key: user
        rate_limit:
          name: per_user
          unit: minute
          requests_per_unit: 20
          replaces:
            - name: per_shop
        shadow_mode: true
`,
  });
});

t.test('of several limits of an entry, the definition has all', async t => {
  const rules = merged(`
domain: api
descriptors:
  - key: user
    quota_mode: true
    rate_limits:
      - {unit: second, requests_per_unit: 5, shadow_mode: true}
      - {window: 5m, requests_per_unit: 100, algorithm: sliding_window, name: burst}
`);
  const { text } = definitionOf(rules, 0);
  t.equal(
    text,
    `domain: api
descriptors:
  - key: user
    rate_limits:
      - unit: second
        requests_per_unit: 5
        shadow_mode: true
        quota_mode: true
      - name: burst
        window: 5m
        algorithm: sliding_window
        requests_per_unit: 100
        quota_mode: true
`,
  );
  t.equal(definitionOf(rules, 1).text, text);
});

t.test('a definition that is read again is the same limit', async t => {
  meansTheSame(t, {
    'a.yaml': `
domain: a.b
descriptors:
  - key: plain
    rate_limit: {unit: week, requests_per_unit: 4294967295}
  - key: large
    rate_limit: {unit: week, requests_per_unit: 9007199254740991}
  - key: large_bucket
    rate_limit: {unit: day, requests_per_unit: 5000000000, algorithm: token_bucket, burst: 90000000000}
  - key: penalized
    rate_limit: {unit: minute, requests_per_unit: 5, penalty: {after: 3, for: 90s, factor: 2, max: 1h}}
  - key: once
    rate_limit: {window: 5m, requests_per_unit: 5, algorithm: token_bucket, penalty: {for: 7d}}
  - key: tiers
    rate_limit: {unit: minute, requests_per_unit: 5, classes: {key: tier, a: 100%, "1": 12.5%, default: 0%}}
    descriptors:
      - key: below
        rate_limits:
          - {window: 5m, requests_per_unit: 5, classes: {key: tier, "no": 100%, b: 50%}}
          - {window: 1h, requests_per_unit: 5, after_limit: {admit: 0.5%}}
  - key: after
    rate_limit: {unit: minute, requests_per_unit: 5, after_limit: {admit: 10%}}
  - key: micros
    rate_limit: {unit: month, requests_per_unit: 50, scale: 1000000}
  - key: held
    holder: request_id
    rate_limit: {unit: month, requests_per_unit: 50, scale: 1000000, reserve: {for: 600s}}
  - key: estimated
    rate_limit: {unit: hour, requests_per_unit: 5, reserve: {for: 90s, overdraft: allow, estimate: 3}}
  - key: slots
    holder: "10"
    rate_limit: {concurrency: {limit: 5, for: 36h}, name: few, replaces: [{name: x}]}
  - key: all
    holder: request_id
    rate_limits:
      - {unit: second, requests_per_unit: 3}
      - {calendar: {period: month}, requests_per_unit: 5, reserve: {for: 1m, zero_hits: settle, estimate: 9}}
      - {concurrency: {limit: 0, for: 1m}, shadow_mode: true}
  - key: granted
    quota: {share: 12.5%, for: 90s}
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: granted_whole
    quota: {for: 5m}
    rate_limits:
      - {unit: minute, requests_per_unit: 3}
      - {unit: day, requests_per_unit: 9}
  - key: never
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
  - key: free_with_number
    rate_limit: {unlimited: true, requests_per_unit: 7, name: free}
  - key: quarter
    rate_limit: {unit: month, unit_multiplier: 3, requests_per_unit: 3}
  - key: years
    rate_limit: {unit: year, unit_multiplier: 2, requests_per_unit: 3}
  - key: ninety
    rate_limit: {window: 90s, requests_per_unit: 3}
  - key: hour
    rate_limit: {window: 60m, requests_per_unit: 3, algorithm: sliding_window}
  - key: bucket
    rate_limit: {unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 7}
  - key: billing
    rate_limit: {calendar: {period: month, zone: Europe/Berlin, starts: 15}, requests_per_unit: 3}
  - key: fiscal
    rate_limit: {calendar: {period: year, zone: Asia/Kolkata, starts: 04-01}, requests_per_unit: 3}
  - key: days
    rate_limit: {calendar: {period: day}, requests_per_unit: 3}
  - key: weeks
    rate_limit: {calendar: {period: week, starts: sunday}, requests_per_unit: 3}
  - key: file
    value: /videos/*
    share_threshold: true
    value_to_metric: true
    detailed_metric: true
    metadata: {cost: 1.5, "a b": [1, two, {x: null}], deep: {yes: 010}}
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: one
    rate_limits:
      - {unit: minute, requests_per_unit: 3}
  - key: many
    rate_limits:
      - {unit: minute, requests_per_unit: 3, name: x}
      - {unit: minute, requests_per_unit: 4, name: y, replaces: [{name: z}, {name: zz}]}
      - {calendar: {period: month}, requests_per_unit: 5, quota_mode: true}
    descriptors:
      - key: below
        quota_mode: true
        rate_limit: {unit: day, requests_per_unit: 9, replaces: [{name: "yes"}, {name: x}]}
`,
    'b.yaml': `
domain: a.b
descriptors:
  - key: merged
    rate_limit: {unit: week, requests_per_unit: 1}
`,
  });
});

t.test('keys and values that YAML would read as something else are quoted', async t => {
  const values = ['yes', 'n', '10', '0x1', 'a: b', '- x', 'a #b', '*', '"', "'", '~', 'ä🙂', '_', ' a ', '@'];
  const entries = values.map(value => ({
    key: value,
    value: `${value}_${value}`,
    rate_limit: { unit: 'day', requests_per_unit: 1 },
  }));
  meansTheSame(t, JSON.stringify({ domain: 'no', descriptors: entries }));
});

t.test('the place is the line at which the entry begins, in its file', async t => {
  const rules = merged({
    'config/one.yaml': 'domain: d\ndescriptors:\n  - value: x\n    key: a\n    rate_limit: {unit: day}\n',
    'config/two.yaml':
      'domain: d\r\ndescriptors: [{key: b, rate_limit: {unit: day}},\r\n  {key: c, rate_limit: {unit: day}}]\r\n',
  });
  t.same(
    [0, 1, 2].map(limit => definitionOf(rules, limit).place),
    [
      { file: 'config/one.yaml', line: 3 },
      { file: 'config/two.yaml', line: 2 },
      { file: 'config/two.yaml', line: 3 },
    ],
  );
});

t.test('rules of an xDS server have a definition, the name of their resource and no place', async t => {
  const content = encodeConfig(hourly('shop', 'user', 7));
  const rules = loadRuleSet([{ name: 'shop', content, format: 'resource' }], { mergeDomains: false });
  t.same(definitionOf(new CompiledRules(compileRules(rules)), 0), {
    place: null,
    resource: 'shop-limits',
    overlay: null,
    entries: [{ key: 'user', value: '' }],
    text: 'domain: shop\ndescriptors:\n  - key: user\n    rate_limit:\n      unit: hour\n      requests_per_unit: 7\n',
  });
});
