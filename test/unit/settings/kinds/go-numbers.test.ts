import t from 'tap';
import {
  formatDuration,
  parseDuration,
  parseInteger,
  parseNumber,
} from '../../../../src/settings/kinds/go-numbers.ts';
import { words } from '../../../support/words.ts';

/** Texts with what they mean, written as `text=number`. */
function pairs(text: string): (readonly [string, number])[] {
  return words(text).map(pair => [pair.replace(/=.*/, ''), Number(pair.replace(/.*=/, ''))]);
}

t.test('whole numbers take their base from the prefix', async t => {
  const cases = pairs(`0=0 -0=0 10=10 +10=10 -10=-10 0x1F=31 0X1f=31 -0x10=-16 0o17=15 0O17=15 0b101=5
    0B101=5 010=8 0010=8 -010=-8 1_000_000=1000000 0x_1F=31 0b1_01=5 0_10=8`);
  for (const [text, value] of cases) t.equal(parseInteger(text), value, text);
});

t.test('a text that is no whole number is refused', async t => {
  const texts = words(`1.0 1e3 a 08 0x 0b2 0o8 0xg --1 + - _1 1_ 1__0 0x__1 0x1_ 1_000_`);
  for (const text of [...texts, '', ' ', ' 1', '1 ', '1\n'])
    t.equal(parseInteger(text), null, JSON.stringify(text));
});

t.test('numbers may be decimal, hexadecimal with an exponent, or not finite', async t => {
  const cases = pairs(`0=0 0.8=0.8 .5=0.5 5.=5 +1.5=1.5 -1.5=-1.5 08=8 1e3=1000 1E-2=0.01
    1_0.2_5e1_0=10.25e10 0x1p-2=0.25 0X1.8P1=3 -0x.8p0=-0.5 0x_1_0p0=16 inf=Infinity +Inf=Infinity
    -INFINITY=-Infinity 1e999=Infinity nan=NaN NaN=NaN`);
  for (const [text, value] of cases) t.ok(Object.is(parseNumber(text), value), text);
});

t.test('a text that is no number is refused', async t => {
  const texts = words(`. e1 1e 1.2.3 1,5 0x1 0x1.8 0xp1 0x.p1 +nan infi _1 1_ 1_.5 1._5 1e_5 1__0`);
  for (const text of [...texts, '', ' 1', '1 ']) t.equal(parseNumber(text), null, JSON.stringify(text));
});

t.test('durations are sums of numbers with units, in milliseconds', async t => {
  const cases = pairs(`0=0 +0=0 -0=0 0s=0 10s=10000 1m30s=90000 1.5h=5400000 24h=86400000 500ms=500
    150us=0.15 150\u00b5s=0.15 150\u03bcs=0.15 1ns=0.000001 .5s=500 1.s=1000 0.1s=100 -1m30s=-90000
    +2s=2000 1s1s=2000 1s2h=7201000 1.9999999999ns=0.000001 9223372036854775807ns=9223372036854.775`);
  for (const [text, value] of cases) t.equal(parseDuration(text), value, text);
});

t.test('a text that is no duration is refused, a bare number other than 0 among them', async t => {
  const texts = words(`10 1.5 -1 00 s .s - +-1s 1h30 1S 1d 1sec 1e3s 1_0s 0x1s 1m-30s 9223372036854775808ns
    300000000h`);
  for (const text of [...texts, '', '1 s', ' 1s', '1s '])
    t.equal(parseDuration(text), null, JSON.stringify(text));
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
