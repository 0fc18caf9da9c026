import { Cron } from 'croner';
import t from 'tap';
import { timeZone } from '../../../../../src/base/calendar/time-zone.ts';
import { nextCronTime } from '../../../../../src/tasks/model/schedules/cron.ts';
import { type CronExpression, parseCron } from '../../../../../src/tasks/model/schedules/cron-expression.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { MinuteByMinute } from '../../../../support/tasks/minute-by-minute.ts';
import { randomCron } from '../../../../support/tasks/random-cron.ts';

const HOUR_MINUTES = 60;
const EXPRESSIONS_EACH = 4;

/** Five fields, with an hour near the change more often than not. */
function expressionNear(random: SeededRandom, localHour: number): string {
  const fields = randomCron(random).split(' ').slice(-5);
  if (random.below(4) > 0)
    fields[1] = [`${localHour}`, `${localHour},${(localHour + 1) % 24}`, '*', '*/2'][random.below(4)];
  return fields.join(' ');
}

t.test('in every zone, around every change of a year, it fires as a walk over the minutes says', async t => {
  const random = new SeededRandom(3_090);
  let changes = 0;
  let compared = 0;
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const zone = timeZone(name)!;
    const year = random.below(2) === 0 ? 2026 : 1975 + random.below(60);
    const begin = Date.UTC(year, 0, 1);
    const moments: number[] = [];
    for (let from = begin; ; ) {
      const change = zone.nextTransition(from, Date.UTC(year + 1, 0, 1));
      if (change === null) break;
      moments.push(change.at);
      from = change.at;
    }
    changes += moments.length;
    if (moments.length === 0) moments.push(begin + random.below(360) * 86_400_000);
    for (const moment of moments) {
      const from = Math.floor(moment / 60_000) * 60_000 - 7 * HOUR_MINUTES * 60_000;
      const minutes = 12 * HOUR_MINUTES;
      const walk = new MinuteByMinute(name, from, minutes);
      for (let round = 0; round < EXPRESSIONS_EACH; round++) {
        const localHour = new Date(moment + zone.offsetAt(moment - 1)).getUTCHours();
        const text = expressionNear(random, localHour);
        const dst = {
          gap: random.pick(['run_after', 'run_after', 'skip'] as const),
          overlap: random.pick(['once', 'once', 'twice'] as const),
        };
        // What was read in the three hours before is what can come a second time.
        const leaveOut = 3 * HOUR_MINUTES;
        const expected = walk.fires(text, dst, leaveOut);
        const expression = parseCron(text) as CronExpression;
        const found: number[] = [];
        let at = nextCronTime(expression, zone, dst, from + leaveOut * 60_000 - 1);
        while (at !== null && at < from + minutes * 60_000) {
          found.push(at);
          at = nextCronTime(expression, zone, dst, at);
        }
        compared += expected.length;
        if (JSON.stringify(found) !== JSON.stringify(expected)) {
          t.same(
            found.map(ms => new Date(ms).toISOString()),
            expected.map(ms => new Date(ms).toISOString()),
            `${name} "${text}" ${JSON.stringify(dst)} around ${new Date(moment).toISOString()}`,
          );
        }
      }
    }
  }
  t.ok(changes > 200, `${changes} changes`);
  t.ok(compared > 5_000, `${compared} times compared`);
});

t.test('over a year each time is later, and a reading that matches or the end of a gap', async t => {
  const random = new SeededRandom(3_091);
  const zones = Intl.supportedValuesOf('timeZone');
  for (let round = 0; round < 150; round++) {
    const name = random.pick(zones);
    const zone = timeZone(name)!;
    const text = randomCron(random);
    const pattern = new Cron(text, { utcOffset: 0, mode: '5-or-6-parts' });
    const expression = parseCron(text) as CronExpression;
    const dst = { gap: 'run_after', overlap: 'once' } as const;
    let last = Date.UTC(2026, 0, 1) + random.below(365) * 86_400_000;
    for (let count = 0; count < 60; count++) {
      const at = nextCronTime(expression, zone, dst, last)!;
      const matches = pattern.match(new Date(at + zone.offsetAt(at)));
      const gapEnd = zone.nextTransition(at - 1, at);
      if (!(at > last && (matches || (gapEnd !== null && gapEnd.after > gapEnd.before)))) {
        t.fail(`${name} "${text}": ${new Date(at).toISOString()} after ${new Date(last).toISOString()}`);
      }
      last = at + (random.below(3) === 0 ? random.below(30 * 86_400_000) : 0);
    }
  }
  t.pass('all of them');
});
