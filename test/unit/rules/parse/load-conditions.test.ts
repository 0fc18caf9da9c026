import { join } from 'node:path';
import t from 'tap';
import { compileRules } from '../../../../src/rules/compile.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import {
  describeRuleFault,
  type RuleFault,
  type RuleFile,
  RuleSetRefused,
} from '../../../../src/rules/rule-set.ts';
import { entryFile, faultsOf, loadEntry, refusal } from './rule-text.ts';

const LIMIT = 'rate_limit: {unit: minute, requests_per_unit: 100}';

/** The only fault of an entry with these lines, without its place. */
function faultOf(lines: string): string {
  const faults = faultsOf(entryFile(`key: k\n${lines}\n${LIMIT}`));
  return faults.map(({ message }) => message).join('\n');
}

/** What the entry with these lines is called in paths. */
function labelOf(lines: string): string {
  return loadEntry(`key: k\n${lines}\n${LIMIT}`).composite;
}

t.test('an entry is named by its condition', async t => {
  const cases: Readonly<Record<string, string>> = {
    'in: [gold, silver]': 'k_in(gold,silver)',
    'in: gold': 'k_in(gold)',
    'in: [yes, 010, 1.5]': 'k_in(yes,010,1.5)',
    'in: [a, b, a]': 'k_in(a,b)',
    'in: [a]\nignore_case: true': 'k_in(a;ignore_case)',
    'in: ["a,b", c]': 'k_in(a\\,b,c)',
    'value: Gold\nignore_case: true': 'k_value(Gold;ignore_case)',
    'cidr: [10.0.0.0/8, "2001:DB8::/32"]': 'k_cidr(10.0.0.0/8,2001:db8::/32)',
    'cidr: 10.0.0.1': 'k_cidr(10.0.0.1)',
    'range: {from: 100, to: 200}': 'k_range(100..200)',
    'range: {from: -0.5}': 'k_range(-0.5..)',
    'range: {to: 7}': 'k_range(..7)',
    'range: {from: 0.0000001}': 'k_range(0.0000001..)',
    "matches: '^/api/v[0-9]+/'": 'k_matches(^/api/v[0-9]+/)',
    'not: {in: [a], cidr: 10.0.0.0/8}': 'k_not(in(a),cidr(10.0.0.0/8))',
    'not: {value: a}': 'k_not(value(a))',
  };
  for (const [lines, label] of Object.entries(cases)) t.equal(labelOf(lines), label, lines);
});

t.test('a long name is cut, and still tells apart what differs at its end', async t => {
  const many = Array.from({ length: 100 }, (_, i) => `value-${i}`);
  const [one, other] = [labelOf(`in: [${many}]`), labelOf(`in: [${many}, more]`)];
  t.equal(one.length, 66);
  t.match(one, /^k_in\(value-0,value-1,.*~#[0-9a-f]{8}$/);
  t.not(one, other);
});

t.test('a faulty condition is refused with what to write', async t => {
  const cases: Readonly<Record<string, string>> = {
    'in: []': '`in` is an empty list, so no request would match: write `in: [a, b]`',
    'in: [a, ~]': '`in` holds texts, not null: write `in: [a, b]`',
    'in: [[a]]': '`in` holds texts, not a list: write `in: [a, b]`',
    'in: {a: b}': '`in` holds texts, not a map: write `in: [a, b]`',
    'cidr: [10.0.0.1/8]':
      '"10.0.0.1/8" has bits beyond its first 8: write 10.0.0.0/8 for the network, or 10.0.0.1 for the address',
    'cidr: localhost':
      '"localhost" is not a network: write an address, a `/` and the number of bits, such as 10.0.0.0/8',
    'range: {}': '`range` has no ends: write `from: ` and `to: `, or one of them',
    'range: {from: 5, to: 1}': 'the range ends at 1, before it begins at 5: swap `from` and `to`',
    'range: {from: 1e3}': '`from` must be a number with at most 15 digits, such as 100 or 0.5',
    'not: {}': '`not` excludes nothing: write what the value must not be, such as `not: { in: [a, b] }`',
    'not: {not: {in: [a]}}':
      '`not` belongs in an entry, not here; accepted here: value, in, in_file, cidr, cidr_file, range, matches, ignore_case\n' +
      '`not` excludes nothing: write what the value must not be, such as `not: { in: [a, b] }`',
    'not: {value: a*}':
      'a value in `not` has no `*`: write `matches` and a pattern, such as \'^a\', instead of "a*"',
    'value: a*\nignore_case: true':
      'a value with `ignore_case` has no `*`: write `matches` and a pattern, such as \'^a\', instead of "a*"',
    'range: {from: 1}\nignore_case: true':
      '`ignore_case` is for `value`, `in`, `in_file` and `matches`, and the entry has none of them: remove it',
    'value: a\nin: [b]':
      'an entry has one of `value` and `in`: write an entry for each, or `in` with several values',
    'in_file: ../plans.txt':
      '"../plans.txt" is not the name of a file: write the name of a file in the directory of the rules',
    'in_file: plans.txt':
      'there is no file "plans.txt" beside the rule file: create it with one value on each line, and write its name as it is',
    'value: a\ngroup_by: {prefix: 24}':
      'the entry has one value, so there is nothing to group: remove `group_by`',
    'group_by: {}': '`group_by` says nothing: write `prefix: 24` for addresses, or `segments: 1` for paths',
    'group_by: {prefix: 24, segments: 1}':
      '`group_by` says two things: write `prefix: 24` for addresses, or `segments: 1` for paths',
    'group_by: {prefix: 33}': '`prefix` must be a whole number from 0 to 32, without quotes, not 33',
    'in: [a]\nshare_threshold: true\ngroup_by: {prefix: 24}':
      'with `share_threshold`, all values count together, and with `group_by` those of a group: remove one of them',
  };
  for (const [lines, fault] of Object.entries(cases)) t.equal(faultOf(lines), fault, lines);
  t.match(faultOf("matches: '(a)\\1'"), /^the pattern "\(a\)\\1" cannot be used: `\\1` at character 4 /);
  t.match(faultOf('in: [a]\nkey: k*'), /the key of an entry with `in` is compared as a whole/);
});

t.test('two entries of a level with the same condition are refused like two with the same value', async t => {
  const entry = `{key: k, in: [a, b], ${LIMIT}}`;
  t.match(
    refusal(`domain: d\ndescriptors: [${entry}, ${entry}]`),
    /"k_in\(a,b\)" is defined twice on this level/,
  );
});

/** Rules with these entries for the key `k`, and files of values beside them. Returns the warnings. */
function warningsOf(
  entries: readonly string[],
  values: Readonly<Record<string, string>> = {},
): readonly string[] {
  const lines = entries.map(entry => `  - {key: k, ${entry}, ${LIMIT}}`);
  const content = Buffer.from(['domain: d', 'descriptors:', ...lines, ''].join('\n'));
  const warnings: RuleFault[] = [];
  loadRuleSet([{ name: 'rules/a.yaml', content }, ...valueFiles(values)], {
    mergeDomains: false,
    onWarning: warning => warnings.push(warning),
  });
  return warnings.map(describeRuleFault);
}

function valueFiles(values: Readonly<Record<string, string>>): RuleFile[] {
  return Object.entries(values).map(([name, text]) => ({
    name: join('rules', name),
    content: Buffer.from(text),
    format: 'values',
  }));
}

t.test('conditions that no request can meet, because others come first, lead to a warning', async t => {
  const cases: readonly (readonly [entries: readonly string[], warning: RegExp])[] = [
    [['value: a', 'in: [a]'], /^rules\/a\.yaml:4:5: d\.k_in\(a\): no value of the list can be matched here/],
    [
      ['in: [a, b]', 'in: [b, c]'],
      /^rules\/a\.yaml:4:5: d\.k_in\(b,c\): 1 of 2 values can never be matched here/,
    ],
    [['value: A, ignore_case: true', 'in: [a, b]'], /k_in\(a,b\): 1 of 2 values/],
    [
      ['cidr: [10.0.0.0/8]', 'cidr: [10.0.0.0/8, 11.0.0.0/8]'],
      /the network 10\.0\.0\.0\/8 can never be matched here/,
    ],
    [
      ['cidr: [10.0.0.0/31]', 'cidr: [10.0.0.0, 10.0.0.1]'],
      /:3:5: d\.k_cidr\(10\.0\.0\.0\/31\): the network/,
    ],
    [['range: {from: 1, to: 9}', 'range: {from: 1, to: 5}', 'range: {from: 5, to: 9}'], /:3:5: .*no number/],
    [
      ["matches: '^a'", "matches: '^ab'"],
      /:3:5: .*every value of "k_matches\(\^ab\)" is found by this pattern/,
    ],
    [["value: 'ab*'", "matches: '^a'"], /:4:5: .*every value of "k_ab\*" is found by this pattern/],
  ];
  for (const [entries, warning] of cases) {
    const warnings = warningsOf(entries);
    t.equal(warnings.length, 1, warnings.join('\n'));
    t.match(warnings[0], warning);
  }
  const apart = [
    'in: [a, b, ""]',
    'cidr: [10.0.0.0/8]',
    'cidr: [10.1.0.0/16]',
    "matches: '^ab'",
    "matches: '^a'",
  ];
  t.same(warningsOf([...apart, "value: 'c*'", 'not: {in: [x]}', 'range: {from: 1}']), []);
});

t.test('of ranges with one end, the narrower one comes first, wherever it is', async t => {
  t.same(warningsOf(['range: {from: 100}', 'range: {from: 1000}']), []);
  t.same(warningsOf(['range: {to: 10}', 'range: {to: 5}', 'range: {from: 8}']), []);
});

t.test('spellings of one value are one value in warnings', async t => {
  const warnings = warningsOf(['in: [Gold, gold], ignore_case: true']);
  t.equal(warnings.length, 1, warnings.join('\n'));
  t.match(warnings[0], /"gold" is in the list twice/);
});

t.test('wildcards with any characters, and of any length, stand beside patterns', async t => {
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).filter(
    text => text !== "'",
  );
  for (const value of [...printable.map(text => `/${text}x*`), `${'a'.repeat(1_200)}*`])
    t.same(warningsOf(["matches: '^[0-9]'", `value: '${value}'`]), [], value);
});

t.test(
  'a key has a bounded number of patterns on a level, because each of them reads every value',
  async t => {
    const patterns = Array.from({ length: 32 }, (_, i) => `matches: '^p${i}x'`);
    t.same(warningsOf(patterns), []);
    t.throws(
      () => warningsOf([...patterns, "not: {matches: '^z'}"]),
      /:35:5: d: the key "k" has more than 32 patterns on this level/,
    );
  },
);

t.test('a fault in a condition names the rule', async t => {
  t.match(
    faultsOf(entryFile(`key: k\nrange: {from: x}\n${LIMIT}`)).map(({ path }) => path),
    ['d.k'],
  );
});

// With work for each pair of keys, this takes minutes.
t.test('a level can have many keys with conditions', async t => {
  const entries = Array.from({ length: 100_000 }, (_, i) => `  - {key: k${i}, in: [a, b], ${LIMIT}}\n`);
  const content = Buffer.from(`domain: d\ndescriptors:\n${entries.join('')}`);
  const warnings: unknown[] = [];
  const onWarning = (warning: unknown): void => void warnings.push(warning);
  const rules = loadRuleSet([{ name: 'rules/a.yaml', content }], { mergeDomains: false, onWarning });
  t.ok(compileRules(rules).byteLength > 0);
  t.same(warnings, []);
});

t.test('a file of values has no more work than it has values', async t => {
  const long = '\n'.repeat(10_000_000);
  const content = Buffer.from(
    `domain: d\ndescriptors:\n${Array.from({ length: 50 }, (_, i) => `  - {key: k${i}, in_file: plans.txt, ${LIMIT}}\n`).join('')}`,
  );
  const files = [{ name: 'rules/a.yaml', content }, ...valueFiles({ 'plans.txt': `${long}gold` })];
  const before = process.memoryUsage().rss;
  t.equal(loadRuleSet(files, { mergeDomains: false }).domains[0].entries.length, 50);
  t.ok(process.memoryUsage().rss - before < 300_000_000, 'lines without values are not kept');
});

t.test('the values of all lists have a bounded number of characters', async t => {
  const content = Buffer.from(
    `domain: d\ndescriptors:\n${Array.from({ length: 200 }, (_, i) => `  - {key: k${i}, in_file: plans.txt, ${LIMIT}}\n`).join('')}`,
  );
  const lines = Array.from({ length: 300 }, (_, i) => `${i}${'x'.repeat(3_000)}`).join('\n');
  t.throws(
    () =>
      loadRuleSet([{ name: 'rules/a.yaml', content }, ...valueFiles({ 'plans.txt': lines })], {
        mergeDomains: false,
      }),
    /the values of all lists have more than 134217728 characters together/,
  );
});

t.test('a file of values has not the name of a rule file', async t => {
  t.match(
    faultOf('in_file: plans.yaml'),
    /the name "plans.yaml" is that of a rule file: give the file of values another one, such as "plans.yaml.txt"/,
  );
});

t.test('values and networks can be in a file beside the rules, one on each line', async t => {
  const content = Buffer.from(`domain: d
descriptors:
  - {key: plan, in_file: plans.txt, ${LIMIT}}
  - {key: ip, cidr_file: networks.txt, ${LIMIT}}
`);
  const values = {
    'plans.txt': '# paid\ngold\n\n  silver \r\ngold\n',
    'networks.txt': '10.0.0.0/8\n2001:db8::/32\n',
  };
  const files = [{ name: 'rules/a.yaml', content }, ...valueFiles(values)];
  const [plan, ip] = loadRuleSet(files, { mergeDomains: false }).domains[0].entries;
  t.match(plan, { composite: 'plan_in_file(plans.txt)', condition: { values: ['gold', 'silver'] } });
  t.match(ip, {
    composite: 'ip_cidr_file(networks.txt)',
    condition: { networks: [{ bits: 8 }, { bits: 32 }] },
  });
  const faulty = valueFiles({ ...values, 'networks.txt': '10.0.0.0/8\nhere\n' });
  t.throws(() => loadRuleSet([files[0], ...faulty], { mergeDomains: false }), RuleSetRefused);
  t.throws(
    () => loadRuleSet([files[0], ...faulty], { mergeDomains: false }),
    /line 2 of "networks.txt": "here" is not a network/,
  );
});

t.test('a file of values without values leads to a warning', async t => {
  t.match(warningsOf(['in_file: plans.txt'], { 'plans.txt': '# none\n' }), [
    /the file "plans.txt" has no values/,
  ]);
});
