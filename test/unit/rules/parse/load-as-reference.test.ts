import t from 'tap';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { describeRuleFault, type RuleEntry } from '../../../../src/rules/rule-set.ts';
import { entryFile, refusal, ruleFiles } from './rule-text.ts';

// What each text loads as was found out with the reference implementation's own decoder (gopkg.in/yaml.v2 v2.4.0).

function described({ composite, limits, entries }: RuleEntry): string {
  const limit = limits.at(0);
  const { requestsPerUnit, unit, unlimited, name, replaces } = limit ?? {};
  const parts = [unlimited ? 'unlimited' : `${requestsPerUnit}/${unit}`];
  if (name) parts.push(`named ${name}`);
  if (replaces?.length) parts.push(`replaces ${replaces.join(' ')}`);
  const below = entries.length === 0 ? '' : ` [${entries.map(described).join(', ')}]`;
  return `${composite}: ${limit === undefined ? 'none' : parts.join(' ')}${below}`;
}

/** The entries of a file as `key: requests/unit`, and its warnings. */
function loaded(text: string): { readonly entries: string[]; readonly warnings: string[] } {
  const warnings: string[] = [];
  const options = {
    mergeDomains: false,
    onWarning: (warning: Parameters<typeof describeRuleFault>[0]): unknown =>
      warnings.push(describeRuleFault(warning)),
  };
  const { domains } = loadRuleSet(ruleFiles(text), options);
  return { entries: domains[0].entries.map(described), warnings };
}

/** The entries after the first one, which has the limit `&b` and is the anchor `&d`. */
function after(entries: string): string[] {
  const text =
    'domain: d\ndescriptors:\n' +
    '- &d {key: x, rate_limit: &b {unit: minute, requests_per_unit: 10, name: n, replaces: [{name: w}]}}\n' +
    '- &e {key: z, value: v, shadow_mode: true, rate_limit: &c {unit: day, requests_per_unit: 7}}\n';
  return loaded(text + entries).entries.slice(2);
}

/** One entry with these lines. */
function entry(lines: string): string[] {
  return loaded(entryFile(`key: k\n${lines}`)).entries;
}

t.test('a limit is merged field by field with the one that a merge key brings', async t => {
  t.strictSame(after('- {<<: *d, key: y, rate_limit: {unit: hour}}'), ['y: 10/hour named n replaces w']);
  t.strictSame(after('- {key: y, rate_limit: {unit: hour}, <<: {rate_limit: *c}}'), ['y: 7/day']);
  t.strictSame(after('- {<<: *d, key: y, rate_limit: ~}'), ['y: none']);
  t.strictSame(after('- {<<: *d, key: y, rate_limit: ~, rate_limit: {unit: hour}}'), ['y: 0/hour']);
  t.strictSame(after('- {<<: *d, key: y, rate_limit: {replaces: []}}'), ['y: 10/minute named n']);
});

t.test('a merge key is applied at its place: after explicit keys it replaces them', async t => {
  t.strictSame(after('- {key: y, rate_limit: {requests_per_unit: 5, <<: *b}}'), [
    'y: 10/minute named n replaces w',
  ]);
  t.strictSame(after('- {key: y, rate_limit: {<<: *b, requests_per_unit: 5}}'), [
    'y: 5/minute named n replaces w',
  ]);
  t.strictSame(after('- {key: y, rate_limit: {unit: hour, <<: {unit: day, requests_per_unit: 3}}}'), [
    'y: 3/day',
  ]);
});

t.test('of a list of merges the earlier map wins, of several merge keys the later one', async t => {
  t.strictSame(after('- {key: y, rate_limit: {<<: [*b, *c]}}'), ['y: 10/minute named n replaces w']);
  t.strictSame(after('- {key: y, rate_limit: {<<: [*c, *b]}}'), ['y: 7/day named n replaces w']);
  t.strictSame(after('- {key: y, rate_limit: {<<: *b, <<: *c}}'), ['y: 7/day named n replaces w']);
  t.strictSame(after('- {<<: [*e, *d], key: y}'), ['y_v: 7/day named n replaces w']);
  t.strictSame(after('- {key: y, rate_limit: {<<: [], unit: hour}}'), ['y: 0/hour']);
});

t.test('a limit that is written twice is merged field by field, other values are replaced', async t => {
  const lines = (...limits: string[]): string => limits.map(limit => `rate_limit: ${limit}`).join('\n');
  t.strictSame(entry(lines('{unit: day, requests_per_unit: 10}', '{unit: hour}')), ['k: 10/hour']);
  t.strictSame(entry(lines('{unit: day, requests_per_unit: 10}', '~', '{unit: hour}')), ['k: 0/hour']);
  t.strictSame(entry(lines('{unit: day, requests_per_unit: 10}', '~')), ['k: none']);
  t.strictSame(entry(lines('{requests_per_unit: 10}', 'NULL', '{unit: hour}')), ['k: 0/hour']);
  const often = new Array<string>(30_000).fill('{unit: day, requests_per_unit: 10}');
  t.strictSame(entry(lines(...often, '{unit: hour}')), ['k: 10/hour']);
  t.strictSame(entry(lines('{unit: day, oops: 1}', '{requests_per_unit: 3}')), ['k: 3/day']);
  t.strictSame(entry(lines('{unit: day, requests_per_unit: 1.9}', '{name: n}')), ['k: 1/day named n']);
  t.strictSame(entry(lines('{unit: day, replaces: [{name: w, oops: 1}]}', '{name: n}')), [
    'k: 0/day named n replaces w',
  ]);
  t.strictSame(entry('rate_limit: {unit: day, unit: hour, requests_per_unit: 1, requests_per_unit: ~}'), [
    'k: 0/hour',
  ]);
  t.strictSame(entry('key: l'), ['l: none']);
  t.strictSame(entry('descriptors: [{key: a}, {key: b}]\ndescriptors: [{key: c}]'), ['k: none [c: none]']);
  t.strictSame(entry('descriptors: [{key: a}]\ndescriptors: ~'), ['k: none']);
});

t.test('metadata that is written twice is merged at its top, until a null ends what came before', async t => {
  const metadata = (text: string): unknown => {
    const { domains } = loadRuleSet(ruleFiles(entryFile(`key: k\n${text}`)), { mergeDomains: false });
    return domains[0].entries[0].metadata;
  };
  t.strictSame(metadata('metadata: {a: 1, b: {c: 2}}\nmetadata: {b: {d: 3}}'), { a: 1, b: { d: 3 } });
  t.strictSame(metadata('metadata: {a: 1}\nmetadata: ~\nmetadata: {b: 1}'), { b: 1 });
  t.strictSame(metadata('metadata: {a: &m {x: 1, w: 1}, b: {w: 2, <<: *m}}'), {
    a: { x: 1, w: 1 },
    b: { w: 1, x: 1 },
  });
});

t.test('what the reference refuses is refused', async t => {
  const cases: Record<string, RegExp> = {
    'rate_limit: {unlimited: true}\nrate_limit: {unit: day}': /an unlimited rule has no unit/,
    'rate_limit: {unit: day, requests_per_unit: five}\nrate_limit: {requests_per_unit: 5}':
      /must be a whole number/,
    'rate_limit: 5\nrate_limit: {unit: day}': /`rate_limit` must be a map/,
    'rate_limit: {unit: day}\nrate_limit: {oops: 1}': /unknown key `oops`/,
    'rate_limit: {unit: day}\nrate_limit: {requests_per_unit: 1.5}': /must be a whole number/,
    'rate_limit: {unit: day, replaces: [~]}\nrate_limit: {name: n}': /an item of `replaces` has no name/,
    'rate_limit: NULL': /the limit has no `unit`/,
    'descriptors: [{key: [a]}]\ndescriptors: [{key: c}]': /`key` must be text/,
    'descriptors: [5]\ndescriptors: [{key: c}]': /may only hold maps/,
    'shadow_mode: maybe\nshadow_mode: yes': /must be true or false/,
    'metadata: []\nmetadata: {a: b}': /`metadata` must be a map/,
    'rate_limit: &l [{unit: day}]\ndescriptors: [{key: c, rate_limit: {<<: *l}}]':
      /takes a map or a list of maps/,
  };
  for (const [lines, message] of Object.entries(cases)) {
    t.match(refusal(entryFile(`key: k\n${lines}`)), message, lines);
  }
});

t.test('a merge that brings the key of an earlier entry makes it a duplicate', async t => {
  const text = 'domain: d\ndescriptors:\n- &d {key: x}\n- {key: y, <<: *d}\n';
  t.match(refusal(text), /"x" is defined twice on this level/);
});

t.test('each of these places is warned about, with what results', async t => {
  const text = [
    'domain: d',
    'descriptors:',
    '- &d {key: x, rate_limit: {unit: minute, requests_per_unit: 10}}',
    '- {<<: *d, key: y, rate_limit: {unit: hour}}',
    '- key: z',
    '  key: t',
    '  rate_limit: {unit: day, requests_per_unit: 10}',
    '  rate_limit: {unit: hour}',
    '- key: u',
    '  rate_limit:',
    '    requests_per_unit: 5',
    '    <<: {unit: day, requests_per_unit: 7}',
    '- key: v',
    '  rate_limit: {unit: hour}',
  ].join('\n');
  t.strictSame(loaded(text).warnings, [
    'rules.yaml:4:20: d.y: `rate_limit` is merged key by key with the one that `<<` brings. The result is `{unit: hour, requests_per_unit: 10}`',
    'rules.yaml:6:3: d.t: `key` is written 2 times; the last one counts. The result is `t`',
    'rules.yaml:8:3: d.t: `rate_limit` is written 2 times; they are merged key by key. The result is `{unit: hour, requests_per_unit: 10}`',
    'rules.yaml:12:5: d.u: `<<` stands below `requests_per_unit`, so the `requests_per_unit` that it brings replaces the one above it. The result is `7`',
    'rules.yaml:14:15: d.v: the limit has a `unit` and no `requests_per_unit`, so it is 0 per hour and rejects every request: write `requests_per_unit: ` and a number',
  ]);
});

t.test('a merge whose values are replaced in full is what YAML says, and no warning', async t => {
  const text = [
    'domain: d',
    'descriptors:',
    '- &d {key: x, value: a, rate_limit: &l {unit: minute, requests_per_unit: 10}}',
    '- {<<: *d, value: b}',
    '- {<<: *d, key: y, rate_limit: {unit: hour, requests_per_unit: 5}}',
    '- {key: z, rate_limit: {<<: *l, unit: hour}}',
    '- {key: t, rate_limit: {unit: hour, requests_per_unit: 0}}',
  ].join('\n');
  t.strictSame(loaded(text).warnings, []);
});
