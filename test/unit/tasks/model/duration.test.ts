import t from 'tap';
import { formatDuration, parseDuration } from '../../../../src/tasks/model/time.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

t.test('units add up, and numbers are seconds', async t => {
  for (const [value, ms] of [
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['7d', 604_800_000],
    ['1d1h1m1s1ms', 90_061_001],
    ['1s1s', 2_000],
    ['0s', 0],
    ['007s', 7_000],
    [30, 30_000],
    [0, 0],
    [0.25, 250],
    [1.0004, 1_000],
  ] as const) {
    t.equal(parseDuration(value), ms, String(value));
  }
});

t.test('everything else is no duration', async t => {
  for (const value of [
    '',
    '90',
    's',
    '1.5h',
    '-1s',
    '+1s',
    '1 s',
    ' 1s',
    '1s ',
    '1S',
    '1w',
    '1y',
    '1s\n',
    '٣s',
    '99999999999999999999d',
    '1s'.repeat(33),
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e300,
    null,
    undefined,
    true,
    {},
    ['1s'],
  ]) {
    t.equal(parseDuration(value), null, JSON.stringify(value));
  }
});

t.test('the shortest text is given back', async t => {
  for (const [ms, text] of [
    [0, '0s'],
    [1, '1ms'],
    [1_000, '1s'],
    [1_500, '1500ms'],
    [30_000, '30s'],
    [60_000, '1m'],
    [90_000, '90s'],
    [5_400_000, '90m'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
    [129_600_000, '36h'],
    [86_490_000, '1d90s'],
    [86_400_001, '1d1ms'],
    [2_592_000_000, '30d'],
  ] as const) {
    t.equal(formatDuration(ms), text);
  }
});

t.test('what is written is read back', async t => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 5_000; round++) {
    const ms = random.below(10 ** random.below(14));
    t.equal(parseDuration(formatDuration(ms)), ms);
  }
});
