import t from 'tap';
import { ask, HOUR, MINUTE, SECOND, scenario, tenant, until } from './scenario.ts';
import type { Step } from './steps/step.ts';

t.setTimeout(240_000);

// What users of other schedulers have reported about times, and what our documentation promises instead.

/** A schedule whose tasks have this type. */
function schedule(type: string, fields: object, at = 1_000): Step {
  return ask(at, 'POST', 'schedules', {
    name: type,
    worker: 'mailer',
    overlap: 'allow',
    ...fields,
    task: { type },
  });
}

/** No process runs, which would only wait for the next time: that of an hour takes seconds. */
function asleep(from: number, to: number): Step {
  return { at: from, do: 'crash', process: 0, downMs: to - from };
}

scenario(
  t,
  'at the end of summer time a schedule of every minute is not silent for an hour',
  {
    start: '2026-10-25T00:57:30Z',
    steps: [
      ...tenant('acme'),
      schedule('minute', { cron: '* * * * *', timezone: 'Europe/Berlin' }),
      until(7 * MINUTE),
    ],
  },
  (seen, t) => {
    const expected = ['00:58', '00:59', '01:00', '01:01', '01:02', '01:03', '01:04'];
    t.strictSame(seen.runs('minute'), expected);
  },
);

scenario(
  t,
  'a time that the clocks show twice has one run, and not one without end',
  {
    start: '2026-10-25T00:28:00Z',
    steps: [
      ...tenant('acme'),
      schedule('once', { cron: '30 2 * * *', timezone: 'Europe/Berlin' }),
      schedule('twice', { cron: '30 2 * * *', timezone: 'Europe/Berlin', dst: { overlap: 'twice' } }),
      asleep(6 * MINUTE, 60 * MINUTE),
      until(64 * MINUTE),
    ],
  },
  (seen, t) => {
    t.strictSame(seen.runs('once'), ['00:30']);
    t.strictSame(seen.runs('twice'), ['00:30', '01:30']);
  },
);

scenario(
  t,
  'a weekly schedule runs once in the week in which summer time ends',
  {
    start: '2026-11-01T05:28:00Z',
    steps: [
      ...tenant('acme'),
      schedule('weekly', { cron: '30 1 * * 0', timezone: 'America/New_York' }),
      asleep(6 * MINUTE, 60 * MINUTE),
      until(64 * MINUTE),
    ],
  },
  (seen, t) => t.strictSame(seen.runs('weekly'), ['05:30']),
);

scenario(
  t,
  'a time that the clocks leave out has one run, right after the gap',
  {
    start: '2026-03-29T00:54:00Z',
    steps: [
      ...tenant('acme'),
      schedule('gap', { cron: '30 2 * * *', timezone: 'Europe/Berlin' }),
      schedule('minute', { cron: '*/5 * * * *', timezone: 'Europe/Berlin' }),
      until(12 * MINUTE),
    ],
  },
  (seen, t) => {
    t.strictSame(seen.runs('gap'), ['01:00']);
    t.strictSame(seen.runs('minute'), ['00:55', '01:00', '01:05']);
  },
);

scenario(
  t,
  'a schedule that was paused for long does not make up for it when it is resumed',
  {
    steps: [
      ...tenant('acme'),
      schedule('minute', { cron: '* * * * *', catch_up: { mode: 'all', window: '4h' } }),
      ask(90 * SECOND, 'PATCH', 'schedules/minute', { paused: true }),
      asleep(2 * MINUTE, 60 * MINUTE),
      ask(61.5 * MINUTE, 'PATCH', 'schedules/minute', { paused: false }),
      until(63.5 * MINUTE),
    ],
  },
  (seen, t) => t.strictSame(seen.runs('minute'), ['12:01', '13:02', '13:03']),
);

scenario(
  t,
  'after an outage of an hour a schedule makes up for its latest time only',
  {
    steps: [
      ...tenant('acme'),
      schedule('minute', { cron: '* * * * *' }),
      { at: 90 * SECOND, do: 'crash', process: 0, downMs: HOUR },
      until(63.5 * MINUTE),
    ],
  },
  (seen, t) => t.strictSame(seen.runs('minute'), ['12:01', '13:01', '13:02', '13:03']),
);

scenario(
  t,
  'a schedule whose time zone changes follows the new one from then on, without a run too many',
  {
    start: '2026-06-01T07:58:00Z',
    steps: [
      ...tenant('acme'),
      schedule('daily', { cron: '0 10 * * *', timezone: 'Europe/Berlin' }),
      ask(4 * MINUTE, 'PATCH', 'schedules/daily', { timezone: 'Europe/London' }),
      asleep(5 * MINUTE, 58 * MINUTE),
      until(64 * MINUTE),
    ],
  },
  // Ten o'clock in Berlin, and an hour later in London: another time of the same schedule.
  (seen, t) => t.strictSame(seen.runs('daily'), ['08:00', '09:00']),
);
