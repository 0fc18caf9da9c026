import { Cron } from 'croner';
import t from 'tap';
import { nextReading } from '../../../../../src/tasks/model/schedules/cron.ts';
import { type CronExpression, parseCron } from '../../../../../src/tasks/model/schedules/cron-expression.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { randomCron } from '../../../../support/tasks/random-cron.ts';

function readings(text: string, from: string, count: number): string[] {
  const expression = parseCron(text) as CronExpression;
  const found: string[] = [];
  let next = nextReading(expression, Date.parse(`${from}Z`));
  while (next !== null && found.length < count) {
    found.push(new Date(next).toISOString().slice(0, 19));
    next = nextReading(expression, next + 1);
  }
  return found;
}

t.test('a reading that matches is found at once, and else the next one', async t => {
  t.same(readings('*/20 * * * *', '2026-03-01T10:20:00', 3), [
    '2026-03-01T10:20:00',
    '2026-03-01T10:40:00',
    '2026-03-01T11:00:00',
  ]);
  t.same(readings('*/20 * * * *', '2026-03-01T10:20:00.001', 1), ['2026-03-01T10:40:00']);
  t.same(readings('59 59 23 31 12 *', '2026-03-01T00:00:00', 2), [
    '2026-12-31T23:59:59',
    '2027-12-31T23:59:59',
  ]);
});

t.test('a day matches when day-of-month or day-of-week does, if both are given', async t => {
  t.same(readings('0 0 13 * fri', '2026-02-01T00:00:00', 5), [
    '2026-02-06T00:00:00',
    '2026-02-13T00:00:00',
    '2026-02-20T00:00:00',
    '2026-02-27T00:00:00',
    '2026-03-06T00:00:00',
  ]);
  t.same(readings('0 0 13 * *', '2026-02-01T00:00:00', 2), ['2026-02-13T00:00:00', '2026-03-13T00:00:00']);
  t.same(readings('0 0 * * fri', '2026-02-01T00:00:00', 2), ['2026-02-06T00:00:00', '2026-02-13T00:00:00']);
});

t.test('days that only some months have', async t => {
  t.same(readings('0 0 31 * *', '2026-04-01T00:00:00', 3), [
    '2026-05-31T00:00:00',
    '2026-07-31T00:00:00',
    '2026-08-31T00:00:00',
  ]);
  t.same(readings('0 0 29 2 *', '2096-03-01T00:00:00', 1), ['2104-02-29T00:00:00']);
});

t.test('an expression that never fires is distinguished from one that fires late', async t => {
  for (const text of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '* * * 30-31 2 *']) {
    t.equal(nextReading(parseCron(text) as CronExpression, Date.UTC(2026, 0, 1)), null, text);
  }
});

t.test('another implementation finds the same readings', async t => {
  const random = new SeededRandom(2026);
  for (let round = 0; round < 400; round++) {
    const text = randomCron(random);
    const other = new Cron(text, { utcOffset: 0, mode: '5-or-6-parts' });
    const from = Date.UTC(2020 + random.below(12), random.below(12), 1 + random.below(28), random.below(24));
    const expected = other.nextRuns(5, new Date(from - 1_000)).map(date => date.toISOString().slice(0, 19));
    t.same(
      readings(text, new Date(from).toISOString().slice(0, 19), 5),
      expected,
      `${text} from ${new Date(from).toISOString()}`,
    );
  }
});
