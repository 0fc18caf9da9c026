import t from 'tap';
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatMs,
  formatRate,
  formatShare,
} from '../../../pages/design/format.ts';

/** Thin spaces as plain ones, so that the expectations can be read. */
const plain = (text: string): string => text.replaceAll('\u2009', ' ');

t.test('numbers have spaces between thousands, and few decimals', async t => {
  for (const [n, text] of [
    [0, '0'],
    [7, '7'],
    [999, '999'],
    [1_000, '1 000'],
    [41_200, '41 200'],
    [1_234_567, '1 234 567'],
    [0.25, '0.25'],
    [0.5, '0.5'],
    [9.999, '10'],
    [12.34, '12.3'],
    [123.4, '123'],
    [-3, '−3'],
    [-0.001, '0'],
    [Number.NaN, '–'],
  ] as const) {
    t.equal(plain(formatCount(n)), text, `${n}`);
  }
  t.match(formatCount(1_000), /\u2009/, 'the space is thin');
});

t.test('rates and times have their units', async t => {
  t.equal(plain(formatRate(41_200)), '41 200/s');
  t.equal(formatRate(0.2), '0.2/s');
  t.equal(formatRate(0.001), '< 0.01/s');
  t.equal(formatRate(0), '0/s');
  t.equal(plain(formatMs(0.4)), '0.4 ms');
  t.same([4_000, 59_999, 60_000, 3_600_000, 172_800_000, -1].map(formatDuration), [
    '4s',
    '59s',
    '1m',
    '1h',
    '2d',
    '0s',
  ]);
});

t.test('shares never look like none or all if they are not', async t => {
  t.equal(plain(formatShare(18, 1_000)), '1.8 %');
  t.equal(plain(formatShare(1, 100_000)), '< 0.1 %');
  t.equal(plain(formatShare(0, 100)), '0 %');
  t.equal(plain(formatShare(45, 100)), '45 %');
  t.equal(plain(formatShare(99_999, 100_000)), '> 99.9 %');
  t.equal(plain(formatShare(100, 100)), '100 %');
  t.equal(plain(formatShare(104, 1)), '10 400 %');
  t.equal(formatShare(0, 0), '–');
});

t.test('times are relative, in both directions', async t => {
  t.equal(formatAgo(0, 999), 'now');
  t.equal(formatAgo(0, 12_000), '12s ago');
  t.equal(formatAgo(0, 7_200_000), '2h ago');
  t.equal(formatAgo(300_000, 0), 'in 5m');
});
