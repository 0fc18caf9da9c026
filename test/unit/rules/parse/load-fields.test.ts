import t from 'tap';
import { words } from '../../../support/words.ts';
import { load, loadEntry, refusal, withoutPlaces } from './rule-text.ts';

t.test('no files are no rules', async t => {
  t.strictSame(load({}), { domains: [] });
});

t.test('a file gives its domain and its entries in definition order, nested ones below', async t => {
  const rules = load(`---
domain: shop
descriptors:
  - key: region
    value: eu
    shadow_mode: true
    rate_limit: {unit: hour, requests_per_unit: 40, name: eu, replaces: [{name: world}, {name: old}]}
    descriptors:
      - key: partner
  - key: path
    value: /api/*
    quota_mode: true
    detailed_metric: true
    value_to_metric: true
    share_threshold: true
    metadata: {tier: gold}
`);
  const flags = { quotaMode: false, detailedMetric: false, valueToMetric: false, shareThreshold: false };
  const bare = { value: '', limits: [], shadowMode: false, ...flags, metadata: null, entries: [] };
  t.strictSame(withoutPlaces(rules), {
    domains: [
      {
        name: 'shop',
        entries: [
          {
            ...bare,
            key: 'region',
            value: 'eu',
            composite: 'region_eu',
            limits: [
              {
                unit: 'hour',
                requestsPerUnit: 40,
                unlimited: false,
                name: 'eu',
                replaces: ['world', 'old'],
                terms: null,
                item: null,
              },
            ],
            shadowMode: true,
            entries: [{ ...bare, key: 'partner', composite: 'partner' }],
          },
          {
            ...bare,
            key: 'path',
            value: '/api/*',
            composite: 'path_/api/*',
            quotaMode: true,
            detailedMetric: true,
            valueToMetric: true,
            shareThreshold: true,
            metadata: { tier: 'gold' },
          },
        ],
      },
    ],
  });
});

t.test('an entry knows the line of its file, after merging as well', async t => {
  const { domains } = load(
    {
      'a.yaml': 'domain: d\ndescriptors:\n  - key: a\n    descriptors:\n\n      - key: nested\n',
      'b.yaml': '{domain: d,\r\ndescriptors: [{key: b}, {\r\nkey: c}]}',
    },
    { mergeDomains: true },
  );
  const [a, b, c] = domains[0].entries;
  t.same(a.place, { file: 'a.yaml', line: 3 });
  t.same(a.entries[0].place, { file: 'a.yaml', line: 6 });
  t.same(b.place, { file: 'b.yaml', line: 2 });
  t.same(c.place, { file: 'b.yaml', line: 2 });
});

t.test('the descriptors may be absent, null or empty', async t => {
  for (const text of [
    'domain: d',
    'domain: d\ndescriptors:',
    'domain: d\ndescriptors: []',
    '{"domain": "d"}',
  ]) {
    t.strictSame(load(text), { domains: [{ name: 'd', entries: [] }] }, text);
  }
});

t.test('only the first document of a file is read', async t => {
  t.strictSame(load('domain: d\n---\ndomain: e\nunknown: }'), { domains: [{ name: 'd', entries: [] }] });
});

t.test('numbers, booleans and dates without quotes give their source text where text is wanted', async t => {
  for (const text of words(`50 010 0x1F 1_000 yes Off true 2020-01-01 9223372036854775807`)) {
    t.equal(loadEntry(`key: k\nvalue: ${text}`).value, text);
    t.equal(loadEntry(`key: ${text}`).key, text);
    t.equal(load(`domain: ${text}`).domains[0].name, text);
    t.equal(loadEntry(`key: k\nrate_limit: {unit: day, name: ${text}}`).limits[0]?.name, text);
  }
});

t.test('null where text is wanted is the same as nothing', async t => {
  for (const text of ['', '~', 'null', 'NULL', "''"]) {
    const entry = loadEntry(`key: k\nvalue: ${text}\nrate_limit:\n  unit: day\n  name: ${text}`);
    t.equal(entry.value, '', text);
    t.equal(entry.composite, 'k', text);
    t.equal(entry.limits[0]?.name, '', text);
  }
  t.equal(loadEntry('key: k\nvalue: "null"').value, 'null');
});

t.test('flags take the booleans of YAML 1.1; null is false', async t => {
  for (const word of ['true', 'True', 'yes', 'Y', 'on', 'ON']) {
    t.equal(loadEntry(`key: k\nshadow_mode: ${word}`).shadowMode, true, word);
  }
  for (const word of ['false', 'no', 'N', 'off', '~', '']) {
    t.equal(loadEntry(`key: k\nshadow_mode: ${word}`).shadowMode, false, word);
  }
});

t.test('anything else for a flag is refused', async t => {
  for (const flag of ['shadow_mode', 'quota_mode', 'detailed_metric', 'value_to_metric', 'share_threshold']) {
    for (const [word, shown] of [
      ['1', '1'],
      ['"true"', 'the text "true"'],
      ['maybe', 'maybe'],
      ['[]', 'a list'],
      ['1.5', '1.5'],
    ]) {
      t.equal(
        refusal(`domain: d\ndescriptors:\n- key: k\n  ${flag}: ${word}\n`),
        `rules.yaml:4:${flag.length + 5}: d.k: \`${flag}\` must be true or false, without quotes, not ${shown}`,
      );
    }
  }
});

t.test('requests_per_unit is a whole number up to 2^53 - 1 in any form; absent or null is 0', async t => {
  const cases: Record<string, number> = {
    '5': 5,
    '+5': 5,
    '010': 8,
    '0o10': 8,
    '0x10': 16,
    '0b101': 5,
    '1_000': 1000,
    '0': 0,
    '-0': 0,
    '4294967295': 4294967295,
    '4294967296': 4294967296,
    '0x1fffffffffffff': 9007199254740991,
    '9007199254740991': 9007199254740991,
    '~': 0,
    '': 0,
  };
  for (const [text, count] of Object.entries(cases)) {
    const { limits } = loadEntry(`key: k\nrate_limit:\n  unit: second\n  requests_per_unit: ${text}`);
    t.equal(limits[0]?.requestsPerUnit, count, text);
  }
  t.equal(loadEntry('key: k\nrate_limit: {unit: second}').limits[0]?.requestsPerUnit, 0);
});

t.test('anything else for requests_per_unit is refused', async t => {
  for (const text of words(`-1 9007199254740992 5.5 1e3 "5" many true 08 [] .inf 99999999999999999999`)) {
    t.match(
      refusal(
        `domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    unit: day\n    requests_per_unit: ${text}\n`,
      ),
      /^rules.yaml:6:24: d.k: `requests_per_unit` must be a whole number from 0 to 9007199254740991, without quotes, not [^\n]+$/,
      text,
    );
  }
});

t.test('a unit is one of seven, in any case of letters', async t => {
  for (const unit of ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']) {
    t.equal(loadEntry(`key: k\nrate_limit: {unit: ${unit}}`).limits[0]?.unit, unit);
    t.equal(loadEntry(`key: k\nrate_limit: {unit: ${unit.toUpperCase()}}`).limits[0]?.unit, unit);
  }
  t.equal(loadEntry('key: k\nrate_limit: {unit: Week}').limits[0]?.unit, 'week');
});

t.test('an unlimited rule has no unit; a text beside it that is no unit is passed over', async t => {
  const limit = {
    unit: null,
    requestsPerUnit: 0,
    unlimited: true,
    name: '',
    replaces: [],
    terms: null,
    item: null,
  };
  t.strictSame(loadEntry('key: k\nrate_limit: {unlimited: true}').limits, [limit]);
  t.strictSame(loadEntry('key: k\nrate_limit: {unlimited: yes, unit: weeks}').limits, [limit]);
  t.strictSame(loadEntry('key: k\nrate_limit: {unlimited: true, requests_per_unit: 9}').limits, [
    { ...limit, requestsPerUnit: 9 },
  ]);
});

t.test('a rate_limit that is null is absent', async t => {
  t.strictSame(loadEntry('key: k\nrate_limit:').limits, []);
  t.strictSame(loadEntry('key: k\nrate_limit: ~').limits, []);
});

t.test('of equal keys the last one counts', async t => {
  const entry = loadEntry(
    'key: a\nvalue: 1.5\nkey: b\nvalue: c\nrate_limit: {oops: 1}\nrate_limit: {unit: foo, unit: day}',
  );
  t.equal(entry.composite, 'b_c');
  t.equal(entry.limits[0]?.unit, 'day');
});

t.test('anchors, aliases and merge keys work', async t => {
  const entry = loadEntry(
    '<<: &base {value: v, rate_limit: &limit {unit: day}}\nkey: k\nvalue: w\ndescriptors: [{<<: {key: n}, rate_limit: *limit}]',
  );
  t.equal(entry.composite, 'k_w');
  t.strictSame(entry.entries[0].limits, entry.limits);
});

t.test('a known key in the wrong place is passed over, whatever it holds below metadata', async t => {
  const rules = load(`
domain: d
name: n
unit: {key: [{value: 1}]}
descriptors:
  - key: k
    name: n
    unit: second
    requests_per_unit: -7
    rate_limit:
      unit: day
      shadow_mode: true
      metadata: {anything: [1.5, x]}
      replaces: [{name: r, key: k}]
`);
  const [entry] = rules.domains[0].entries;
  t.equal(entry.shadowMode, false);
  const { unit, replaces, item } = entry.limits[0];
  t.strictSame({ unit, replaces, item }, { unit: 'day', replaces: ['r'], item: null });
});

t.test('keys, lists and numbers are checked also where a known key is passed over', async t => {
  t.equal(
    refusal('domain: d\nunit:\n  oops: 1\nname: 1.5\nreplaces:\n- a\nvalue: {on: 1}\n').replaceAll(
      /; accepted here:.*/g,
      '',
    ),
    [
      'rules.yaml:3:3: d: unknown key `oops`',
      'rules.yaml:4:7: d: 1.5 is a decimal number, and such numbers are only allowed in metadata: for text write "1.5", with the quotes',
      'rules.yaml:6:3: d: a list may only hold maps, not a: write `- key: ...`',
      'rules.yaml:7:9: d: the key "on" is a boolean in YAML and not a name',
    ].join('\n'),
  );
});
