import t from 'tap';
import { SharedKeys } from '../../../../../src/counters/redis/commands/shared-keys.ts';

const SECOND = 1;
const MINUTE = 2;
const HOUR = 3;
const DAY = 4;
const MONTH = 5;
const YEAR = 6;
const WEEK = 7;

/** Midnight that begins neither a week nor a month nor a year of the service. */
const MIDNIGHT_S = 1_700_006_400;

t.test('a second shares its keys with no shorter window', async t => {
  t.equal(new SharedKeys(300).at(MIDNIGHT_S)[SECOND], 0);
});

t.test('a key may be shared until the last counter of the shorter window is gone', async t => {
  const keys = new SharedKeys(300);
  const untilS = (unit: number, startS: number, shorterS: number) => {
    // Two lengths, because one that was counted in at its end lives another one; the jitter; the skew of the clocks.
    const lastS = startS + 2 * shorterS + 300 + 60;
    return [startS, lastS, lastS + 1].map(nowS => keys.at(nowS)[unit]);
  };
  t.same(untilS(HOUR, MIDNIGHT_S + 3_600, 60), [1, 1, 0]);
  t.same(untilS(DAY, MIDNIGHT_S, 3_600), [1, 1, 0]);
  t.same(untilS(WEEK, 604_800 * 2_811, 86_400), [1, 1, 0]);
  t.same(untilS(MONTH, 2_592_000 * 656, 86_400), [1, 1, 0]);
  t.same(untilS(YEAR, 31_536_000 * 55, 86_400), [1, 1, 0]);
});

t.test('a minute is shorter than the jitter of a second: its keys may be shared throughout', async t => {
  for (let nowS = MIDNIGHT_S; nowS < MIDNIGHT_S + 60; nowS++) {
    t.equal(new SharedKeys(300).at(nowS)[MINUTE], 1);
  }
});

t.test('a window that begins with a longer one asks for all that are shorter', async t => {
  // A month that begins with a week.
  const startS = 604_800 * 30;
  t.equal(startS % 2_592_000, 0);
  const keys = new SharedKeys(0);
  t.equal(keys.at(startS + 2 * 604_800)[MONTH], 1);
  t.equal(keys.at(startS + 2 * 604_800 + 61)[MONTH], 0);
});

t.test('what has no unit is always looked at', async t => {
  t.equal(new SharedKeys(-1).at(MIDNIGHT_S)[0], 1);
});
