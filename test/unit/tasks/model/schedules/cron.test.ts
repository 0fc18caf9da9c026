import t from 'tap';
import { timeZone } from '../../../../../src/base/calendar/time-zone.ts';
import { nextCronTime } from '../../../../../src/tasks/model/schedules/cron.ts';
import { type CronExpression, parseCron } from '../../../../../src/tasks/model/schedules/cron-expression.ts';

const DEFAULT_DST = { gap: 'run_after', overlap: 'once' } as const;

/** All times at which it fires from one moment to before another, as UTC. */
function fires(
  zone: string,
  text: string,
  from: string,
  before: string,
  dst: Parameters<typeof nextCronTime>[2] = DEFAULT_DST,
): string[] {
  const expression = parseCron(text) as CronExpression;
  const found: string[] = [];
  let at = nextCronTime(expression, timeZone(zone)!, dst, Date.parse(from) - 1);
  while (at !== null && at < Date.parse(before)) {
    found.push(new Date(at).toISOString().slice(0, 16).concat('Z'));
    at = nextCronTime(expression, timeZone(zone)!, dst, at);
  }
  return found;
}

// The local day of each, in UTC.
const BERLIN_GAP = ['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'] as const;
const BERLIN_DOUBLE = ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'] as const;
const NEW_YORK_GAP = ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z'] as const;
const NEW_YORK_DOUBLE = ['2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'] as const;
const LORD_HOWE_GAP = ['2026-10-03T13:30:00Z', '2026-10-04T13:00:00Z'] as const;
const LORD_HOWE_DOUBLE = ['2026-04-04T13:00:00Z', '2026-04-05T13:30:00Z'] as const;
const SAO_PAULO_GAP = ['2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z'] as const;

t.test('an appointment in an hour that is missing runs once, at the first instant after the gap', async t => {
  t.same(fires('Europe/Berlin', '30 2 * * *', ...BERLIN_GAP), ['2026-03-29T01:00Z']);
  t.same(fires('America/New_York', '30 2 * * *', ...NEW_YORK_GAP), ['2026-03-08T07:00Z']);
  t.same(fires('Australia/Lord_Howe', '15 2 * * *', ...LORD_HOWE_GAP), ['2026-10-03T15:30Z']);
  t.same(fires('America/Sao_Paulo', '0 0 * * *', ...SAO_PAULO_GAP), ['2018-11-04T03:00Z']);
});

t.test('several appointments in one gap, and one at its end, become one', async t => {
  t.same(fires('Europe/Berlin', '0,30 2 * * *', ...BERLIN_GAP), ['2026-03-29T01:00Z']);
  t.same(fires('Europe/Berlin', '30 2,3 * * *', ...BERLIN_GAP), ['2026-03-29T01:00Z', '2026-03-29T01:30Z']);
  t.same(fires('Europe/Berlin', '0 2,3 * * *', ...BERLIN_GAP), ['2026-03-29T01:00Z']);
  t.same(fires('Europe/Berlin', '0 */1 * * *', '2026-03-29T00:00:00Z', '2026-03-29T03:00:00Z'), [
    '2026-03-29T00:00Z',
    '2026-03-29T01:00Z',
    '2026-03-29T02:00Z',
  ]);
});

t.test('an appointment in an hour that comes twice runs in the first', async t => {
  t.same(fires('Europe/Berlin', '30 2 * * *', ...BERLIN_DOUBLE), ['2026-10-25T00:30Z']);
  t.same(fires('America/New_York', '30 1 * * *', ...NEW_YORK_DOUBLE), ['2026-11-01T05:30Z']);
  t.same(fires('Australia/Lord_Howe', '45 1 * * *', ...LORD_HOWE_DOUBLE), ['2026-04-04T14:45Z']);
  t.same(fires('Europe/Berlin', '*/30 2-3 * * *', ...BERLIN_DOUBLE), [
    '2026-10-25T00:00Z',
    '2026-10-25T00:30Z',
    '2026-10-25T02:00Z',
    '2026-10-25T02:30Z',
  ]);
});

t.test('with * as the hour each match is real: both passes, and nothing for a gap', async t => {
  t.same(fires('Europe/Berlin', '30 * * * *', '2026-03-29T00:00:00Z', '2026-03-29T03:00:00Z'), [
    '2026-03-29T00:30Z',
    '2026-03-29T01:30Z',
    '2026-03-29T02:30Z',
  ]);
  t.same(fires('Europe/Berlin', '*/15 * * * *', '2026-10-25T00:00:00Z', '2026-10-25T02:00:00Z'), [
    '2026-10-25T00:00Z',
    '2026-10-25T00:15Z',
    '2026-10-25T00:30Z',
    '2026-10-25T00:45Z',
    '2026-10-25T01:00Z',
    '2026-10-25T01:15Z',
    '2026-10-25T01:30Z',
    '2026-10-25T01:45Z',
  ]);
  t.same(fires('Europe/Berlin', '@hourly', '2026-03-29T00:00:00Z', '2026-03-29T02:00:00Z'), [
    '2026-03-29T00:00Z',
    '2026-03-29T01:00Z',
  ]);
});

t.test('a gap can be skipped, and what comes twice can run twice', async t => {
  const skip = { gap: 'skip', overlap: 'once' } as const;
  t.same(fires('Europe/Berlin', '30 2 * * *', ...BERLIN_GAP, skip), []);
  t.same(fires('Europe/Berlin', '0 3 * * *', ...BERLIN_GAP, skip), ['2026-03-29T01:00Z']);
  const twice = { gap: 'run_after', overlap: 'twice' } as const;
  t.same(fires('Europe/Berlin', '30 2 * * *', ...BERLIN_DOUBLE, twice), [
    '2026-10-25T00:30Z',
    '2026-10-25T01:30Z',
  ]);
});

t.test('the next time is after the one asked from, also at the very change', async t => {
  const daily = parseCron('30 2 * * *') as CronExpression;
  const berlin = timeZone('Europe/Berlin')!;
  const gapEnd = Date.parse('2026-03-29T01:00:00Z');
  t.equal(nextCronTime(daily, berlin, DEFAULT_DST, gapEnd - 1), gapEnd);
  t.equal(nextCronTime(daily, berlin, DEFAULT_DST, gapEnd), Date.parse('2026-03-30T00:30:00Z'));
  const second = Date.parse('2026-10-25T01:00:00Z');
  for (const after of [second - 1, second, second + 1]) {
    t.equal(
      nextCronTime(daily, berlin, DEFAULT_DST, after),
      Date.parse('2026-10-26T01:30:00Z'),
      String(after),
    );
  }
});

t.test('a day that a zone leaves out altogether', async t => {
  // Samoa crossed the date line: the 30th of December 2011 did not exist there.
  t.same(fires('Pacific/Apia', '0 9 * * *', '2011-12-29T10:00:00Z', '2011-12-31T23:00:00Z'), [
    '2011-12-29T19:00Z',
    '2011-12-30T10:00Z',
    '2011-12-30T19:00Z',
    '2011-12-31T19:00Z',
  ]);
});

t.test('400 days in a row come day by day, whatever the clocks do', async t => {
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Asia/Kolkata',
  ]) {
    const expression = parseCron('30 2 * * *') as CronExpression;
    const first = nextCronTime(expression, timeZone(zone)!, DEFAULT_DST, Date.parse('2026-01-01T12:00:00Z'))!;
    let at = first;
    let longest = 0;
    let shortest = Number.POSITIVE_INFINITY;
    for (let day = 0; day < 400; day++) {
      const next = nextCronTime(expression, timeZone(zone)!, DEFAULT_DST, at)!;
      longest = Math.max(longest, next - at);
      shortest = Math.min(shortest, next - at);
      at = next;
    }
    t.ok(longest <= 25 * 3_600_000 && shortest >= 22.5 * 3_600_000, `${zone}: ${shortest} to ${longest}`);
    t.equal(Math.round((at - first) / 86_400_000), 400, zone);
  }
});

t.test('all names of a time zone are one zone, whose transitions are looked for once', async t => {
  const berlin = timeZone('Europe/Berlin')!;
  for (const name of ['europe/berlin', 'EUROPE/BERLIN', 'Europe/bERLIN'])
    t.equal(timeZone(name), berlin, name);
  t.equal(timeZone('Asia/Kolkata'), timeZone('Asia/Calcutta'));
  t.not(timeZone('Europe/Paris'), berlin);
  t.equal(timeZone('Europe/Nowhere'), null);
});
