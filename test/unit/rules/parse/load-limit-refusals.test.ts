import t, { type Test } from 'tap';
import { entryFile, refusal } from './rule-text.ts';

/** By the lines of an entry below its key: the place in the file, a space, and the message. */
type Refusals = Readonly<Record<string, string>>;

function refuses(t: Test, cases: Refusals): void {
  for (const [lines, fault] of Object.entries(cases)) {
    const [, place, message] = /^(\S+) (.*)$/.exec(fault)!;
    t.equal(refusal(entryFile(`key: k\n${lines}`)), `rules.yaml:${place}: d.k: ${message}`, lines);
  }
}

t.test('a window is written in one of three ways, from one second to ten years', async t => {
  refuses(t, {
    'rate_limit: {unit: minute, window: 5m, requests_per_unit: 1}':
      '4:24 `window` is the whole length of the window: remove `unit` or `window`',
    'rate_limit: {unit_multiplier: 5, requests_per_unit: 1}':
      '4:17 the limit has no `unit` for its `unit_multiplier`: write one of second, minute, hour, day, month, year, week, or `unlimited: true`',
    'rate_limit: {unit: minute, unit_multiplier: 0, requests_per_unit: 1}':
      '4:49 `unit_multiplier` must be a whole number from 1 to 5256000 (a window has at most ten years), without quotes, not 0',
    'rate_limit: {unit: year, unit_multiplier: 11, requests_per_unit: 1}':
      '4:47 `unit_multiplier` must be a whole number from 1 to 10 (a window has at most ten years), without quotes, not 11',
    'rate_limit: {window: 5m, unit_multiplier: 2, requests_per_unit: 1}':
      '4:47 `window` is the whole length of the window: remove `unit_multiplier` or `window`',
    'rate_limit: {window: 0s, requests_per_unit: 1}':
      '4:26 a window of 0s is shorter than one second: write a length from 1s to 3650d',
    'rate_limit: {window: 3651d, requests_per_unit: 1}':
      '4:26 a window of 3651d is longer than ten years: write a length from 1s to 3650d',
    'rate_limit: {window: 300, requests_per_unit: 1}':
      '4:26 `window: 300` has no unit: write `window: 300s` for seconds',
    'rate_limit: {window: 5 min, requests_per_unit: 1}':
      '4:26 "5 min" is not the length of a window: write a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`',
    'rate_limit: {window: 1.5, requests_per_unit: 1}':
      '4:26 "1.5" is not the length of a window: write a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`',
    'rate_limit: {window: 5M, requests_per_unit: 1}':
      '4:26 "5M" is not the length of a window: write a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`',
    'rate_limit: {window: 1h30m, requests_per_unit: 1}':
      '4:26 "1h30m" is not the length of a window: write a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`',
    'rate_limit: {unit: 5m, requests_per_unit: 1}': '4:24 "5m" is not a unit: write `window: 5m`',
    'rate_limit: {window: 5m}':
      '4:17 the limit has no `requests_per_unit`: write `requests_per_unit: ` and a number',
    'rate_limit: {window: 1m}':
      '4:17 the limit has no `requests_per_unit`: write `requests_per_unit: ` and a number',
  });
});

t.test('a calendar has a known period, zone and start, and is the only window', async t => {
  refuses(t, {
    'rate_limit: {calendar: {period: month}, unit: month, requests_per_unit: 1}':
      '4:51 the `period` of the `calendar` is the window: remove `unit` or `calendar`',
    'rate_limit: {calendar: {period: month}, algorithm: token_bucket, requests_per_unit: 1}':
      '4:56 the windows of a calendar have different lengths, so they are always fixed windows: remove `algorithm: token_bucket`, or write `window: ` and a length instead of `calendar`',
    'rate_limit: {calendar: month, requests_per_unit: 1}':
      '4:28 `calendar` must be a map, not month: indent its keys below it',
    'rate_limit: {calendar: {zone: UTC}, requests_per_unit: 1}':
      '4:28 the calendar has no `period`: write one of day, week, month, year',
    'rate_limit: {calendar: {period: hour}, requests_per_unit: 1}':
      '4:37 "hour" is not a period of a calendar: write one of day, week, month, year',
    'rate_limit: {calendar: {period: month, zone: Europe/Berlim}, requests_per_unit: 1}':
      '4:50 "Europe/Berlim" is not a known time zone: did you mean `Europe/Berlin`? write the IANA name of a time zone, such as `Europe/Berlin` or `UTC`',
    'rate_limit: {calendar: {period: month, starts: 32}, requests_per_unit: 1}':
      '4:52 a month cannot start at "32": `starts` is the day on which the month starts, from 1 to 31 (a shorter month starts on its last day)',
    'rate_limit: {calendar: {period: year, starts: 02-30}, requests_per_unit: 1}':
      '4:51 a year cannot start at "02-30": `starts` is the month and day on which the year starts, such as `04-01` for the first of April',
    'rate_limit: {calendar: {period: week, starts: mon}, requests_per_unit: 1}':
      '4:51 a week cannot start at "mon": `starts` is the day on which the week starts, from `monday` to `sunday`, or from 1 for Monday to 7',
    'rate_limit: {calendar: {period: day, starts: 24}, requests_per_unit: 1}':
      '4:50 a day cannot start at "24": `starts` is the hour at which the day starts, from 0 to 23',
    'rate_limit: {calendar: {period: day, starts: 6.5}, requests_per_unit: 1}':
      '4:50 a day cannot start at "6.5": `starts` is the hour at which the day starts, from 0 to 23',
    'rate_limit: {calendar: {period: day, starts: [6]}, requests_per_unit: 1}':
      '4:50 `starts` must be text, not a list: write one value after the colon',
  });
});

t.test('a burst belongs to a bucket that can be counted exactly', async t => {
  refuses(t, {
    'rate_limit: {unit: minute, burst: 5, requests_per_unit: 1}':
      '4:39 `burst` is only for token buckets: write `algorithm: token_bucket` or remove `burst`',
    'rate_limit: {unit: minute, burst: 0, algorithm: token_bucket, requests_per_unit: 1}':
      '4:39 `burst` must be a whole number from 1 to 9007199254740991, without quotes, not 0',
    'rate_limit: {unit: minute, burst: 3, algorithm: token_bucket, requests_per_unit: 0}':
      '4:39 the bucket is never filled because `requests_per_unit` is 0: remove `burst`, or write a number from 1',
    'rate_limit: {window: 3650d, algorithm: token_bucket, requests_per_unit: 4294967291}':
      '4:77 a bucket of 4294967291 tokens that gets 4294967291 in 3650d cannot be counted exactly: write `burst: 28561` or less, or a rounder number for `requests_per_unit`',
    'rate_limit: {unit: day, burst: 4294967295, algorithm: token_bucket, requests_per_unit: 999983}':
      '4:36 a bucket of 4294967295 tokens that gets 999983 in 1d cannot be counted exactly: write `burst: 104249991` or less, or a rounder number for `requests_per_unit`',
    'rate_limit: {unit: day, burst: 3651, algorithm: token_bucket, requests_per_unit: 1}':
      '4:36 a bucket of 3651 tokens that gets 1 in 1d takes more than ten years to become full: write `burst: 3650` or less',
    'rate_limit: {unit: hour, algorithm: token_bucket, requests_per_unit: 5000000029}':
      '4:74 a bucket of 5000000029 tokens that gets 5000000029 in 1h cannot be counted exactly: write `burst: 2501999792` or less, or a rounder number for `requests_per_unit`',
    'rate_limit: {unit: second, burst: 5, algorithm: token_bucket, requests_per_unit: 9007199254740991}':
      '4:86 a bucket that gets 9007199254740991 tokens in 1s cannot be counted exactly: write `requests_per_unit: 9007199254740000`',
    'rate_limit: {unit: second, algorithm: sliding_window, requests_per_unit: 2251799813685248}':
      '4:78 a sliding window cannot count 2251799813685248 hits exactly: write `requests_per_unit: 2251799813685247` or less, or remove `algorithm: sliding_window`',
    'rate_limit: {unit: minute, algorithm: sliding, requests_per_unit: 1}':
      '4:43 "sliding" is not an algorithm; did you mean `sliding_window`? accepted here: fixed_window, sliding_window, token_bucket',
    'rate_limit: {unit: minute, algorithm: slidingwindow, requests_per_unit: 1}':
      '4:43 "slidingwindow" is not an algorithm; did you mean `sliding_window`? accepted here: fixed_window, sliding_window, token_bucket',
  });
});

t.test('limits of one entry can be told apart, and none of them is unlimited', async t => {
  refuses(t, {
    'rate_limit: {unit: minute, requests_per_unit: 1}\nrate_limits: [{unit: day, requests_per_unit: 2}]':
      '5:18 the entry has `rate_limit` and `rate_limits`: move the limit of `rate_limit` into the list',
    'rate_limits: []': '4:18 `rate_limits` is empty: write `- unit: ...` for each limit, or remove it',
    'rate_limits:': '4:5 `rate_limits` is empty: write `- unit: ...` for each limit, or remove it',
    'rate_limits: {unit: minute, requests_per_unit: 1}':
      '4:18 `rate_limits` must be a list, not a map: write `- unit: ...`',
    'rate_limits: [5]': '4:19 `rate_limits` may only hold maps, not 5: write `- unit: ...`',
    'rate_limits: [{unlimited: true}]':
      '4:31 a limit in `rate_limits` cannot be unlimited: remove it from the list, or write `rate_limit: {unlimited: true}` instead of the list',
    'rate_limit: {unlimited: true, window: 5m}':
      '4:43 an unlimited rule is not counted: remove `window` or `unlimited: true`',
    'rate_limit: {unlimited: true, burst: 5}':
      '4:42 an unlimited rule is not counted: remove `burst` or `unlimited: true`',
    'rate_limits: [{unit: minute, requests_per_unit: 1}, {window: 60s, requests_per_unit: 2}]':
      '4:57 two limits of the entry have the same window (1m) and algorithm: give them names, or remove one',
    'rate_limits: [{unit: minute, name: a, requests_per_unit: 1}, {window: 1h, name: a, requests_per_unit: 2}]':
      '4:85 two limits of the entry have the name "a": give each one a name of its own',
    'rate_limits: [{unit: minute, name: a, requests_per_unit: 1}, {window: 1h, name: b, replaces: [{name: a}], requests_per_unit: 2}]':
      '4:98 a limit cannot replace "a", which is a limit of the same entry: remove one of the two',
    'rate_limits: [{unit: minute, name: a, replaces: [{name: a}], requests_per_unit: 1}]':
      '4:61 a limit cannot replace itself: "a" is its own name',
    'rate_limits: [{unit: minute, name: 1h, requests_per_unit: 1}, {unit: minute, name: 1h_fixed_window, requests_per_unit: 1}, {unit: hour, requests_per_unit: 1}]':
      '4:128 other limits of the entry have the names of the statistics of this limit: write `name: ` and a name',
    'rate_limits: [{unit: minute}]':
      '4:19 the limit has no `requests_per_unit`: write `requests_per_unit: ` and a number',
    'rate_limits: [{requests_per_unit: 1}]':
      '4:19 the limit has no `unit`: write one of second, minute, hour, day, month, year, week, or `window: ` and a length',
    'rate_limits: [{unit: minutes, requests_per_unit: 1}]':
      '4:26 "minutes" is not a unit: write one of second, minute, hour, day, month, year, week, or `window: ` and a length',
    'rate_limits: [{unit: minute, requests_per_unit: 1, metadata: {a: 1}}]':
      '4:56 `metadata` belongs in an entry, not here; accepted here: unit, unit_multiplier, window, calendar, requests_per_unit, algorithm, burst, penalty, classes, after_limit, scale, reserve, concurrency, name, replaces, shadow_mode, quota_mode',
    'window: 5m\nrate_limit: {unit: minute, requests_per_unit: 1}':
      '4:5 `window` belongs in `rate_limit`, not here; accepted here: key, value, in, in_file, cidr, cidr_file, range, matches, not, ignore_case, rate_limit, rate_limits, holder, quota, descriptors, shadow_mode, quota_mode, detailed_metric, value_to_metric, share_threshold, group_by, metadata',
    'rate_limit: {unit: minute, requests_per_unit: 1, windows: 5m}':
      '4:54 unknown key `windows`; did you mean `window`? accepted here: unit, unit_multiplier, window, calendar, requests_per_unit, algorithm, burst, penalty, classes, after_limit, scale, reserve, concurrency, unlimited, name, replaces',
    'rate_limit: {unit: minute, requests_per_unit: 1, zone: UTC}':
      '4:54 `zone` belongs in `calendar`, not here; accepted here: unit, unit_multiplier, window, calendar, requests_per_unit, algorithm, burst, penalty, classes, after_limit, scale, reserve, concurrency, unlimited, name, replaces',
    'rate_limit: {unit: minute, requests_per_unit: 1, rate_limits: []}':
      '4:54 `rate_limits` belongs in an entry, not here; accepted here: unit, unit_multiplier, window, calendar, requests_per_unit, algorithm, burst, penalty, classes, after_limit, scale, reserve, concurrency, unlimited, name, replaces',
    [`rate_limits:${Array.from({ length: 9 }, (_, i) => `\n  - {window: ${i + 1}s, requests_per_unit: 1}`).join('')}`]:
      '13:9 an entry has at most 8 limits, and this one has 9: remove some',
  });
});

t.test('sliding windows and token buckets are refused if the counters are in memcached', async t => {
  const reason =
    'because it cannot compare and add in one step: remove the line for a fixed window, or set BACKEND_TYPE to `redis` or `memory`';
  const rules = entryFile(
    `key: k
rate_limits:
  - {window: 5m, requests_per_unit: 1}
  - {calendar: {period: day}, requests_per_unit: 1}
  - {window: 5m, algorithm: sliding_window, requests_per_unit: 1}
descriptors:
  - {key: n, rate_limit: {unit: day, algorithm: token_bucket, requests_per_unit: 1}}
  - {key: o, rate_limit: {unit: day, algorithm: fixed_window, requests_per_unit: 1}}`,
  );
  t.equal(refusal(rules), '');
  t.equal(
    refusal(rules, { mergeDomains: false, forMemcached: true }),
    [
      `rules.yaml:7:33: d.k: memcached cannot count \`algorithm: sliding_window\`, ${reason}`,
      `rules.yaml:9:53: d.k.n: memcached cannot count \`algorithm: token_bucket\`, ${reason}`,
    ].join('\n'),
  );
});
