import t from 'tap';
import { isUnit, secondsUntilReset, windowLengthS, windowStartS } from '../../../src/counters/window.ts';

const NOW = 1_700_000_000;

// Unit, length, start of the window and seconds until it ends, all at NOW.
const WINDOWS: readonly (readonly [string, number, number, number, number])[] = [
  ['SECOND', 1, 1, 1_700_000_000, 1],
  ['MINUTE', 2, 60, 1_699_999_980, 40],
  ['HOUR', 3, 3_600, 1_699_999_200, 2_800],
  ['DAY', 4, 86_400, 1_699_920_000, 6_400],
  ['WEEK', 7, 604_800, 1_699_488_000, 92_800],
  ['MONTH', 5, 2_592_000, 1_697_760_000, 352_000],
  ['YEAR', 6, 31_536_000, 1_671_408_000, 2_944_000],
];

for (const [name, unit, length, start, reset] of WINDOWS) {
  t.test(`${name} has fixed windows of ${length} s from the epoch`, async t => {
    t.equal(windowLengthS(unit), length);
    t.equal(windowStartS(unit, NOW), start);
    t.equal(secondsUntilReset(unit, NOW), reset);
    t.equal(secondsUntilReset(unit, start), length, 'the whole length at its start, never 0');
    t.equal(secondsUntilReset(unit, start + length - 1), 1);
  });
}

t.test('a week starts on a Thursday', async t => {
  t.equal(new Date(windowStartS(7, NOW) * 1_000).toUTCString().slice(0, 3), 'Thu');
});

t.test('only the seven units have windows', async t => {
  for (let unit = 1; unit <= 7; unit++) t.ok(isUnit(unit));
  for (const unit of [0, 8, -1, 4_294_967_295]) t.notOk(isUnit(unit));
});
