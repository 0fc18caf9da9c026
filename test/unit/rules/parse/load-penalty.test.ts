import t from 'tap';
import { entryFile, loadEntry, refusal } from './rule-text.ts';

/** The terms of a limit of 100 per minute with these fields. */
function termsOf(fields: string) {
  return loadEntry(`key: k\nrate_limit: {unit: minute, requests_per_unit: 100, ${fields}}`).limits[0].terms;
}

t.test('a penalty has a length, and may grow up to a maximum', async t => {
  const cases = {
    'for: 2m': { after: 1, forS: 120, factor: 1, maxS: 120 },
    'after: 3, for: 2m, factor: 2, max: 1h': { after: 3, forS: 120, factor: 2, maxS: 3_600 },
    'after: 1000, for: 1s, factor: 100, max: 365d': {
      after: 1_000,
      forS: 1,
      factor: 100,
      maxS: 31_536_000,
    },
    'for: 1w, factor: 1, after: ~, max: ~': { after: 1, forS: 604_800, factor: 1, maxS: 604_800 },
    'for: 5m, factor: 2, max: 5m': { after: 1, forS: 300, factor: 2, maxS: 300 },
  };
  for (const [fields, penalty] of Object.entries(cases)) {
    t.strictSame(termsOf(`penalty: {${fields}}`)?.penalty, penalty, fields);
  }
  t.equal(termsOf('penalty: ~'), null, 'a limit without a penalty is plain');
});

t.test('a limit with a penalty is not plain, and its counters have keys of their own', async t => {
  const tags = {
    '': '1m.penalty',
    'algorithm: sliding_window,': '1m.sliding.penalty',
    'algorithm: token_bucket,': '1m.bucket.penalty',
  };
  for (const [algorithm, tag] of Object.entries(tags)) {
    t.equal(termsOf(`${algorithm} penalty: {for: 1m}`)?.tag, tag);
    t.equal(termsOf(`${algorithm} penalty: {after: 2, for: 2m}`)?.tag, tag, 'whatever the penalty is');
  }
});

t.test('each limit of a list has a penalty of its own', async t => {
  const { limits } = loadEntry(`key: k
rate_limits:
  - {window: 1m, requests_per_unit: 5, penalty: {for: 1h}}
  - {window: 1m, requests_per_unit: 9, name: n}
  - {calendar: {period: day}, requests_per_unit: 9, penalty: {for: 2h}}`);
  t.strictSame(
    limits.map(({ terms }) => [terms?.tag, terms?.penalty?.forS]),
    [
      ['1m.penalty', 3_600],
      ['1m', undefined],
      ['day.UTC.penalty', 7_200],
    ],
  );
});

t.test('a faulty penalty is refused with its place', async t => {
  const accepted = 'a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`';
  const cases: Record<string, readonly [at: string, message: string]> = {
    '{after: 3}': [
      '{after',
      'the penalty has no `for`: write `for: ` and the length of a penalty, such as `2m`',
    ],
    '{for: 120}': ['120', '`for: 120` has no unit: write `for: 120s` for seconds'],
    '{for: soon}': ['soon', `"soon" is not a length of time: write ${accepted}`],
    '{for: 0s}': ['0s', '0s is shorter than one second: write a length from 1s to 365d'],
    '{for: 366d}': ['366d', '366d is longer than a year: write a length from 1s to 365d'],
    '{for: 1m, after: 0}': ['0}', '`after` must be a whole number from 1 to 1000, without quotes, not 0'],
    '{for: 1m, after: 1001}': [
      '1001',
      '`after` must be a whole number from 1 to 1000, without quotes, not 1001',
    ],
    '{for: 1m, factor: 101, max: 1h}': [
      '101',
      '`factor` must be a whole number from 1 to 100, without quotes, not 101',
    ],
    '{for: 1m, factor: 2}': [
      '2}',
      'penalties that grow need a `max`: write `max: ` and the length of the longest penalty, such as `1h`',
    ],
    '{for: 1m, max: 1h}': [
      '1h',
      'without a `factor`, all penalties are equally long: write `factor: 2` or more, or remove `max`',
    ],
    '{for: 2m, factor: 2, max: 1m}': [
      '1m}',
      'the longest penalty is shorter than the first one: write a longer `max` or a shorter `for`',
    ],
    '{for: 1m, until: 1h}': ['until', 'unknown key `until`; accepted here: after, for, factor, max'],
    '2m': ['2m', '`penalty` must be a map, not 2m: indent its keys below it'],
  };
  for (const [penalty, [at, message]] of Object.entries(cases)) {
    const file = entryFile(`key: k\nrate_limit: {unit: minute, requests_per_unit: 1, penalty: ${penalty}}`);
    const column = file.split('\n')[3].lastIndexOf(at) + 1;
    t.equal(refusal(file), `rules.yaml:4:${column}: d.k: ${message}`, penalty);
  }
});

t.test('limits that cannot penalize refuse a penalty', async t => {
  const fault = (lines: string) => refusal(entryFile(`key: k\n${lines}`));
  t.match(
    fault('rate_limit: {unlimited: true, penalty: {for: 1m}}'),
    'd.k: an unlimited rule is not counted: remove `penalty` or `unlimited: true`',
  );
  const quota =
    'd.k: a quota cannot have a `penalty`, because using it up does not have to reject a request: remove `penalty` ' +
    'or `quota_mode`';
  const limit = '{unit: day, requests_per_unit: 1, penalty: {for: 1m}}';
  t.match(fault(`quota_mode: true\nrate_limit: ${limit}`), quota);
  t.match(fault(`quota_mode: true\nrate_limits: [${limit}]`), quota);
  t.match(
    fault('rate_limits: [{unit: day, requests_per_unit: 1, quota_mode: true, penalty: {for: 1m}}]'),
    quota,
  );
  t.equal(fault(`quota_mode: false\nrate_limit: ${limit}`), '');
  t.match(
    fault(`penalty: {for: 1m}\nrate_limit: {unit: day, requests_per_unit: 1}`),
    '`penalty` belongs in `rate_limit`',
  );
});

t.test('penalties are refused if the counters are in memcached', async t => {
  const rules = entryFile(`key: k
rate_limits:
  - {window: 5m, requests_per_unit: 1, penalty: {for: 1m}}
  - {window: 5m, requests_per_unit: 1, name: n}`);
  t.equal(refusal(rules), '');
  t.equal(
    refusal(rules, { mergeDomains: false, forMemcached: true }),
    'rules.yaml:5:53: d.k: memcached cannot keep a `penalty`, because it cannot compare and change a record in one ' +
      'step: remove it, or set BACKEND_TYPE to `redis` or `memory`',
  );
});

t.test('a penalty that is written twice is merged field by field', async t => {
  const { limits } = loadEntry(`key: k
rate_limit:
  unit: minute
  requests_per_unit: 5
  penalty: {after: 4, for: 1m}
  penalty: {for: 2m}`);
  t.strictSame(limits[0].terms?.penalty, { after: 4, forS: 120, factor: 1, maxS: 120 });
});
