import { Cron } from 'croner';
import t from 'tap';
import { timeZone } from '../../../../../src/base/calendar/time-zone.ts';
import { nextCronTime } from '../../../../../src/tasks/model/schedules/cron.ts';
import { type CronExpression, parseCron } from '../../../../../src/tasks/model/schedules/cron-expression.ts';

/**
 * Why schedules do not use croner, although the tests compare with it: the cases that it answers differently. If a test
 * here fails after an update of croner, look at the comment of `src/tasks/model/schedules/cron.ts` again.
 */

const DST = { gap: 'run_after', overlap: 'once' } as const;

function shown(times: readonly number[]): string[] {
  return times.map(ms => new Date(ms).toISOString().slice(0, 16).concat('Z'));
}

function ours(text: string, zone: string, from: number, before: number): string[] {
  const expression = parseCron(text) as CronExpression;
  const found: number[] = [];
  for (let at = from - 1; ; ) {
    const next = nextCronTime(expression, timeZone(zone)!, DST, at);
    if (next === null || next >= before) return shown(found);
    found.push(next);
    at = next;
  }
}

/** With the rule for local times that comes closest to the one of schedules. */
function croners(text: string, zone: string, from: number, before: number): string[] {
  const pattern = new Cron(text, {
    timezone: zone,
    mode: '5-or-6-parts',
    fixedTimeRule: 'no-wildcard',
  });
  const found: number[] = [];
  for (let at = new Date(from - 1_000); ; ) {
    const next = pattern.nextRun(at);
    if (next === null || next.getTime() >= before) return shown(found);
    found.push(next.getTime());
    at = next;
  }
}

/** Local times with a step or `*` beside an hour that is not `*`: appointments here, intervals in croner. */
const DIFFERENT: readonly {
  readonly text: string;
  readonly zone: string;
  readonly from: string;
  readonly before: string;
  readonly ours: readonly string[];
  readonly croner: readonly string[];
}[] = [
  {
    text: '*/30 2 * * *',
    zone: 'Europe/Berlin',
    from: '2026-03-28T23:00Z',
    before: '2026-03-29T22:00Z',
    ours: ['2026-03-29T01:00Z'],
    croner: [],
  },
  {
    text: '* 2 * * *',
    zone: 'Europe/Berlin',
    from: '2026-03-28T23:00Z',
    before: '2026-03-29T22:00Z',
    ours: ['2026-03-29T01:00Z'],
    croner: [],
  },
  {
    text: '30 */2 * * *',
    zone: 'Europe/Berlin',
    from: '2026-03-28T23:00Z',
    before: '2026-03-29T03:00Z',
    ours: ['2026-03-28T23:30Z', '2026-03-29T01:00Z', '2026-03-29T02:30Z'],
    croner: ['2026-03-28T23:30Z', '2026-03-29T02:30Z'],
  },
  {
    text: '30 */2 * * *',
    zone: 'Europe/Berlin',
    from: '2026-10-24T22:00Z',
    before: '2026-10-25T04:00Z',
    ours: ['2026-10-24T22:30Z', '2026-10-25T00:30Z', '2026-10-25T03:30Z'],
    croner: ['2026-10-24T22:30Z', '2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-25T03:30Z'],
  },
  {
    text: '*/30 2-3 * * *',
    zone: 'Europe/Berlin',
    from: '2026-10-24T22:00Z',
    before: '2026-10-25T04:00Z',
    ours: ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T02:00Z', '2026-10-25T02:30Z'],
    croner: [
      '2026-10-25T00:00Z',
      '2026-10-25T00:30Z',
      '2026-10-25T01:00Z',
      '2026-10-25T01:30Z',
      '2026-10-25T02:00Z',
      '2026-10-25T02:30Z',
    ],
  },
  // Samoa left out the 30th of December 2011: its run of 9:00 is at the first moment after the gap.
  {
    text: '0 9 * * *',
    zone: 'Pacific/Apia',
    from: '2011-12-29T10:00Z',
    before: '2011-12-31T10:00Z',
    ours: ['2011-12-29T19:00Z', '2011-12-30T10:00Z', '2011-12-30T19:00Z'],
    croner: ['2011-12-29T19:00Z', '2011-12-30T19:00Z'],
  },
];

t.test('local times that croner runs at other moments when clocks change', async t => {
  for (const { text, zone, from, before, ...expected } of DIFFERENT) {
    const window = [Date.parse(from), Date.parse(before)] as const;
    t.same(ours(text, zone, ...window), expected.ours, `${text} in ${zone}`);
    t.same(croners(text, zone, ...window), expected.croner, `${text} in ${zone}: croner`);
  }
});

t.test('expressions that croner takes and schedules refuse with the place and what is accepted', async t => {
  for (const [text, detail] of [
    ['*/60 * * * *', 'the minute field: "*/60" is not valid: use a step from 1 to 59'],
    ['? * * * *', 'the minute field: "?" is not valid: use values from 0 to 59'],
    ['0 0 L * *', 'the day-of-month field: "l" is not valid: use values from 1 to 31'],
    ['0 0 15W * *', 'the day-of-month field: "15w" is not valid: use values from 1 to 31'],
    [
      '0 0 * * 5#2',
      'the day-of-week field: "5#2" is not valid: use values from 0 to 7, or a name such as sun',
    ],
    [
      '0 0 1 * +mon',
      'the day-of-week field: "+mon" is not valid: use values from 0 to 7, or a name such as sun',
    ],
  ]) {
    t.ok(new Cron(text, { utcOffset: 0, mode: '5-or-6-parts' }).nextRun(), text);
    t.same(parseCron(text), { kind: 'fault', detail }, text);
  }
});

t.test('faults say what is accepted, where the text in croner does not', async t => {
  for (const [text, message] of [
    ['60 * * * *', 'CronPattern: Invalid value for minute: 60'],
    ['0 0 32 * *', 'CronPattern: Invalid value for day: 31'],
    ['0 0 * * fri-mon', "CronPattern: From value is larger than to value: '5-1'"],
  ]) {
    t.throws(() => new Cron(text, { utcOffset: 0, mode: '5-or-6-parts' }), { message }, text);
    t.match(
      parseCron(text),
      { kind: 'fault', detail: /^the .+ field: .+(from \d+ to \d+|write two ranges)/ },
      text,
    );
  }
});
