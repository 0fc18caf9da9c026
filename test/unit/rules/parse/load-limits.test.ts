import t from 'tap';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { describeRuleFault, type LimitTerms, type RuleLimit } from '../../../../src/rules/rule-set.ts';
import { each } from '../../../support/each.ts';
import { entryFile, faultsOf, loadEntry, ruleFiles } from './rule-text.ts';

const FIXED: LimitTerms = {
  algorithm: 'fixed_window',
  multiplier: 1,
  burst: 0,
  calendar: null,
  penalty: null,
  classes: null,
  afterLimit: 0,
  lease: null,
  scale: 1,
  window: '1m',
  tag: '1m',
};

/** The only limit of an entry with this `rate_limit`, of 100 requests. */
function limitOf(fields: string): RuleLimit {
  return loadEntry(`key: k\nrate_limit: {${fields}, requests_per_unit: 100}`).limits[0];
}

/** The limits of an entry with these items of `rate_limits`, each of 100 requests. */
function limitsOf(...items: readonly string[]): readonly RuleLimit[] {
  const lines = items.map(item => `  - {${item}, requests_per_unit: 100}`);
  return loadEntry(`key: k\nrate_limits:\n${lines.join('\n')}`).limits;
}

t.test('a fixed window of one unit is a plain limit, however it is written', async t => {
  const plain = limitOf('unit: minute');
  t.equal(plain.terms, null);
  t.equal(plain.item, null);
  const spellings = [
    'window: 1m',
    'window: 60s',
    'window: 060s',
    'unit: minute, unit_multiplier: 1',
    'unit: second, unit_multiplier: 60',
    'unit: MINUTE, algorithm: fixed_window',
    'unit: minute, unit_multiplier: ~, window: , calendar: ~, algorithm: , burst: ~',
  ];
  for (const spelling of spellings) t.strictSame(limitOf(spelling), plain, spelling);
  const units = { '1s': 'second', '1h': 'hour', '24h': 'day', '1d': 'day', '1w': 'week', '7d': 'week' };
  for (const [window, unit] of Object.entries(units)) {
    t.strictSame(limitOf(`window: ${window}`), { ...plain, unit }, window);
  }
});

t.test('a window has any number of a unit, which is the unit of the answer', async t => {
  const cases: Record<string, [unit: string, multiplier: number, window: string]> = {
    'window: 5m': ['minute', 5, '5m'],
    'window: 90s': ['second', 90, '90s'],
    'window: 36h': ['hour', 36, '36h'],
    'window: 2d': ['day', 2, '2d'],
    'window: 2w': ['week', 2, '2w'],
    'window: 30d': ['day', 30, '30d'],
    'window: 3650d': ['day', 3650, '3650d'],
    'unit: minute, unit_multiplier: 5': ['minute', 5, '5m'],
    'unit: Hour, unit_multiplier: 36': ['hour', 36, '36h'],
    'unit: month, unit_multiplier: 3': ['month', 3, '90d'],
    'unit: year, unit_multiplier: 10': ['year', 10, '3650d'],
    'unit: second, unit_multiplier: 315360000': ['second', 315_360_000, '315360000s'],
  };
  for (const [fields, [unit, multiplier, window]] of Object.entries(cases)) {
    const limit = limitOf(fields);
    t.equal(limit.unit, unit, fields);
    t.strictSame(limit.terms, { ...FIXED, multiplier, window, tag: window }, fields);
  }
});

t.test('sliding windows and token buckets have a tag of their own', async t => {
  const sliding = limitOf('unit: minute, algorithm: sliding_window');
  t.strictSame(sliding.terms, { ...FIXED, algorithm: 'sliding_window', tag: '1m.sliding' });
  const bucket = { ...FIXED, algorithm: 'token_bucket', burst: 20, tag: '1m.bucket' };
  t.strictSame(limitOf('unit: minute, algorithm: token_bucket, burst: 20').terms, bucket);
  t.strictSame(limitOf('window: 1m, algorithm: Token_Bucket').terms, { ...bucket, burst: 100 });
  const closed = loadEntry('key: k\nrate_limit: {window: 1m, algorithm: token_bucket, requests_per_unit: 0}');
  t.equal(closed.limits[0].terms?.burst, 0);
});

t.test('a calendar has a period, a zone and a start', async t => {
  const cases: Record<string, [zone: string, starts: number, window: string]> = {
    'period: day': ['UTC', 0, 'day UTC'],
    'period: day, zone: Asia/Tokyo, starts: 6': ['Asia/Tokyo', 6, 'day@6 Asia/Tokyo'],
    'period: Week, zone: UTC': ['UTC', 1, 'week UTC'],
    'period: week, zone: UTC, starts: Sunday': ['UTC', 7, 'week@sunday UTC'],
    'period: week, zone: UTC, starts: 7': ['UTC', 7, 'week@sunday UTC'],
    'period: month, zone: Europe/Berlin, starts: 1': ['Europe/Berlin', 1, 'month Europe/Berlin'],
    'period: month, zone: Europe/Berlin, starts: 15': ['Europe/Berlin', 15, 'month@15 Europe/Berlin'],
    'period: month, starts: 31': ['UTC', 31, 'month@31 UTC'],
    'period: year': ['UTC', 101, 'year UTC'],
    'period: year, starts: 04-01': ['UTC', 401, 'year@04-01 UTC'],
    'period: year, starts: "2-29"': ['UTC', 229, 'year@02-29 UTC'],
  };
  for (const [fields, [zone, starts, window]] of Object.entries(cases)) {
    const { unit, terms } = limitOf(`calendar: {${fields}}`);
    t.equal(unit, terms?.calendar?.period, fields);
    t.equal(fields.toLowerCase().startsWith(`period: ${unit}`), true, fields);
    const { period } = terms?.calendar ?? {};
    t.strictSame(terms, {
      ...FIXED,
      calendar: { period, zone, starts },
      window,
      tag: window.replace(' ', '.'),
    });
  }
});

t.test('an entry has several limits, each with its own window, algorithm and modes', async t => {
  const limits = limitsOf(
    'name: burst, unit: second',
    'name: month, calendar: {period: month}, quota_mode: true, replaces: [{name: other}]',
    'window: 5m, algorithm: sliding_window, shadow_mode: true',
  );
  const modes = { shadowMode: false, quotaMode: false };
  t.strictSame(each(limits, 'item'), [
    { ...modes, level: 'burst' },
    { ...modes, quotaMode: true, level: 'month' },
    { ...modes, shadowMode: true, level: '5m' },
  ]);
  t.strictSame(
    limits.map(({ terms }) => terms?.tag),
    ['1s', 'month.UTC', '5m.sliding'],
  );
  t.strictSame(each(limits, 'unit'), ['second', 'month', 'minute']);
  t.strictSame(limits[1].replaces, ['other']);
  const [single] = limitsOf('unit: minute');
  t.strictSame(single.terms, FIXED, 'also a single limit of one unit has its tag');
});

t.test('limits without a name have their window as a level, with more if another limit has it', async t => {
  const levels = (...items: readonly string[]): unknown => limitsOf(...items).map(({ item }) => item?.level);
  t.strictSame(
    levels('window: 5m', 'window: 5m, algorithm: sliding_window', 'window: 5m, algorithm: token_bucket'),
    ['5m', '5m_sliding_window', '5m_token_bucket'],
  );
  t.strictSame(levels('window: 5m', 'window: 1h, name: 5m'), ['5m_fixed_window', '5m']);
  t.strictSame(
    levels('calendar: {period: month}', 'calendar: {period: month, zone: Asia/Tokyo, starts: 3}'),
    ['month', 'month@3_Asia/Tokyo'],
  );
});

t.test('only limits with the same window and algorithm have their names in their tags', async t => {
  const tags = (...items: readonly string[]): unknown => limitsOf(...items).map(({ terms }) => terms?.tag);
  t.strictSame(tags('name: a, window: 5m', 'name: b, window: 5m'), ['5m.a', '5m.b']);
  t.strictSame(tags('name: a, window: 5m', 'window: 5m'), ['5m.a', '5m']);
  t.strictSame(tags('name: a b, window: 5m', 'name: "é\t/c", window: 5m'), ['5m.a%20b', '5m.%C3%A9%09%2Fc']);
  t.strictSame(tags('name: a, window: 5m', 'name: b, window: 5m, algorithm: sliding_window'), [
    '5m',
    '5m.sliding',
  ]);
});

t.test('a repeated limit and calendar is merged, of repeated lists the last counts', async t => {
  const entry = loadEntry(
    [
      'key: k',
      'rate_limit: {window: 36h, algorithm: token_bucket, requests_per_unit: 5}',
      'rate_limit: {window: 5m, burst: 7}',
    ].join('\n'),
  );
  t.strictSame(entry.limits[0].terms, {
    ...FIXED,
    algorithm: 'token_bucket',
    multiplier: 5,
    burst: 7,
    window: '5m',
    tag: '5m.bucket',
  });
  const calendars = 'calendar: {period: month, zone: Asia/Tokyo}, calendar: {period: year}';
  t.equal(limitOf(calendars).terms?.window, 'year Asia/Tokyo');
  const list =
    'rate_limits: [{unit: day, requests_per_unit: 1}]\nrate_limits: [{window: 5m, requests_per_unit: 2}]';
  t.strictSame(each(loadEntry(`key: k\n${list}`).limits, 'requestsPerUnit'), [2]);
  const merged =
    'domain: d\ndescriptors:\n' +
    '- {key: a, rate_limit: &base {unit: minute, requests_per_unit: 3}}\n' +
    '- {key: b, rate_limits: &list [{<<: *base, unit_multiplier: 5}, {<<: *base, name: n}]}\n' +
    '- {key: c, rate_limits: *list}\n';
  t.strictSame(faultsOf(merged), []);
});

/** The warnings about an entry `a` with two limits, and with entries below it. */
function warningsOf(...nested: readonly string[]): readonly string[] {
  const limits = ['{name: b, unit: day, requests_per_unit: 9}', '{window: 5m, requests_per_unit: 9}'];
  return warningsOfRule(`rate_limits: [${limits.join(', ')}]`, nested);
}

/** The warnings about an entry `a` with a limit or a list of limits, and with entries below it. */
function warningsOfRule(limits: string, nested: readonly string[]): readonly string[] {
  const warnings: string[] = [];
  const lines = ['key: a', limits, 'descriptors:', ...nested.map(entry => `  - {${entry}}`)];
  loadRuleSet(ruleFiles(entryFile(lines.join('\n'))), {
    mergeDomains: false,
    onWarning: warning => warnings.push(describeRuleFault(warning)),
  });
  return warnings;
}

t.test('a limit and a nested entry whose statistics have the same name: a warning, not a fault', async t => {
  const limit = 'rate_limit: {unit: hour, requests_per_unit: 5}';
  t.same(warningsOf(`key: b, ${limit}`), [
    'rules.yaml:4:18: d.a: the statistics of the limit "b" and of the nested entry "b" have the same name, so they are added up: give the limit another `name`',
  ]);
  t.match(warningsOf(`key: 5m, ${limit}`), [/of the limit "5m" and of the nested entry "5m"/]);
  t.same(warningsOf(`key: b, value: c, ${limit}`, `key: c, ${limit}`), []);
  t.same(warningsOf(`key: b, descriptors: [{key: c, ${limit}}]`), [], 'an entry without a limit has none');
});

t.test(
  'a class or a share after the limit whose statistics have the name of a nested entry: a warning',
  async t => {
    const limit = 'rate_limit: {unit: hour, requests_per_unit: 5}';
    const share = 'unit: day, requests_per_unit: 9, after_limit: {admit: 5%}';
    const classes = 'unit: day, requests_per_unit: 9, classes: {key: tier, x: 100%}';
    const warning = (statistics: string, nested: string) =>
      `the statistics "${statistics}" of the limit have the name of those of the nested entry "${nested}", so they are ` +
      'added up: use another key or value for the entry';
    t.same(warningsOfRule(`rate_limit: {${share}}`, [`key: after_limit, ${limit}`]), [
      `rules.yaml:4:17: d.a: ${warning('after_limit', 'after_limit')}`,
    ]);
    const list = (fields: string) => `rate_limits: [{name: b, ${fields}}]`;
    const below = `key: b, descriptors: [{key: tier, value: x, ${limit}}]`;
    t.same(warningsOfRule(list(classes), [below]), [`rules.yaml:4:18: d.a: ${warning('b.tier_x', 'b')}`]);
    const same = `key: b, rate_limits: [{window: 1h, requests_per_unit: 1, name: after_limit}]`;
    t.match(warningsOfRule(list(share), [same])[1], warning('b.after_limit', 'b'));
    t.match(
      warningsOfRule(list(share), [`key: b, rate_limit: {${share}}`])[1],
      warning('b.after_limit', 'b'),
    );
    t.same(warningsOfRule(`rate_limit: {${share}}`, ['key: after_limit', `key: b, ${limit}`]), []);
    t.same(warningsOfRule(list(share), [`key: after_limit, ${limit}`]), []);
  },
);
