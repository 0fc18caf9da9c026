import t from 'tap';
import { formatDuration, parseDuration } from '../../../../src/settings/kinds/durations.ts';

t.test('durations are sums of numbers with units, in milliseconds', async t => {
  const cases: [string, number][] = [
    ['0', 0],
    ['+0', 0],
    ['-0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['24h', 86_400_000],
    ['500ms', 500],
    ['150us', 0.15],
    ['150\u00b5s', 0.15],
    ['150\u03bcs', 0.15],
    ['1ns', 0.000001],
    ['.5s', 500],
    ['1.s', 1000],
    ['0.1s', 100],
    ['-1m30s', -90_000],
    ['+2s', 2000],
    ['1s1s', 2000],
    ['1s2h', 7_201_000],
    ['1.9999999999ns', 0.000001],
    ['9223372036854775807ns', 9_223_372_036_854.775],
  ];
  for (const [text, value] of cases) t.equal(parseDuration(text), value, text);
});

t.test('a text that is no duration is refused, a bare number other than 0 among them', async t => {
  const texts = [
    '',
    '10',
    '1.5',
    '-1',
    '00',
    's',
    '.s',
    '-',
    '+-1s',
    '1h30',
    '1 s',
    ' 1s',
    '1s ',
    '1S',
    '1d',
    '1sec',
  ];
  const others = ['1e3s', '1_0s', '0x1s', '1m-30s', '9223372036854775808ns', '300000000h'];
  for (const text of [...texts, ...others]) t.equal(parseDuration(text), null, JSON.stringify(text));
});

t.test('a duration is written in the shortest units', async t => {
  const cases: [number, string][] = [
    [0, '0'],
    [86_400_000, '24h'],
    [90_000, '1m30s'],
    [1500, '1s500ms'],
    [0.15, '150us'],
    [0.000001, '1ns'],
    [-1000, '-1s'],
  ];
  for (const [ms, text] of cases) {
    t.equal(formatDuration(ms), text);
    t.equal(parseDuration(text), ms, `${text} is read back`);
  }
});
