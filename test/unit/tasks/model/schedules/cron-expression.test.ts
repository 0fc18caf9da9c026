import t from 'tap';
import { type CronField, parseCron } from '../../../../../src/tasks/model/schedules/cron-expression.ts';

function values(field: CronField): number[] {
  return [...field.next.keys()].filter(value => field.next[value] === value);
}

/** The values of all fields but those that are `*`. */
function fields(text: string): Record<string, number[]> | string {
  const parsed = parseCron(text);
  if (parsed.kind === 'fault') return parsed.detail;
  const { kind, ...all } = parsed;
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, field]) => (field.star ? [] : [[name, values(field)]])),
  );
}

t.test('five fields fire at second 0; six begin with the second', async t => {
  t.same(fields('1 2 3 4 5'), {
    second: [0],
    minute: [1],
    hour: [2],
    dayOfMonth: [3],
    month: [4],
    dayOfWeek: [5],
  });
  t.same(fields('9 1 2 3 4 5'), {
    second: [9],
    minute: [1],
    hour: [2],
    dayOfMonth: [3],
    month: [4],
    dayOfWeek: [5],
  });
  t.same(fields('* * * * * *'), {});
  t.same(fields('  5\t4   * * *  '), { second: [0], minute: [5], hour: [4] });
});

t.test('ranges, lists and steps', async t => {
  t.same(fields('0-3,10,50-58/4 * * * *'), { second: [0], minute: [0, 1, 2, 3, 10, 50, 54, 58] });
  t.same(fields('*/20 */7 * * *'), { second: [0], minute: [0, 20, 40], hour: [0, 7, 14, 21] });
  t.same(fields('5,5,05 * */10 */5 *'), {
    second: [0],
    minute: [5],
    dayOfMonth: [1, 11, 21, 31],
    month: [1, 6, 11],
  });
  t.same(fields('7-7/2 * * * *'), { second: [0], minute: [7] });
});

t.test('months and weekdays have names, in any case; Sunday is 0 and 7', async t => {
  t.same(fields('0 0 * JAN,mar-May MON-fri'), {
    second: [0],
    minute: [0],
    hour: [0],
    month: [1, 3, 4, 5],
    dayOfWeek: [1, 2, 3, 4, 5],
  });
  for (const [text, days] of [
    ['7', [0]],
    ['0', [0]],
    ['sun', [0]],
    ['0-7', [0, 1, 2, 3, 4, 5, 6]],
    ['5-7', [0, 5, 6]],
    ['fri-sun', [0, 5, 6]],
    ['sun-tue', [0, 1, 2]],
    ['*/2', [0, 2, 4, 6]],
  ] as const) {
    t.same(fields(`0 0 * * ${text}`), { second: [0], minute: [0], hour: [0], dayOfWeek: days }, text);
  }
});

t.test('nicknames stand for expressions', async t => {
  for (const [name, text] of [
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@Annually', '0 0 1 1 *'],
  ]) {
    t.same(fields(name), fields(text), name);
  }
});

t.test('only a field that is * alone counts as *', async t => {
  for (const hour of ['*/1', '0-23', '*,*']) t.ok('hour' in (fields(`0 ${hour} * * *`) as object), hour);
});

t.test('a fault names the field, the part of it, and what is accepted', async t => {
  for (const [text, detail] of [
    ['60 * * * *', 'the minute field: "60" is not valid: use values from 0 to 59'],
    ['* 5-24 * * *', 'the hour field: "5-24" is not valid: use values from 0 to 23'],
    ['* * 0 * *', 'the day-of-month field: "0" is not valid: use values from 1 to 31'],
    ['* * * 13 *', 'the month field: "13" is not valid: use values from 1 to 12, or a name such as jan'],
    [
      '* * * * funday',
      'the day-of-week field: "funday" is not valid: use values from 0 to 7, or a name such as sun',
    ],
    ['* * * mon *', 'the month field: "mon" is not valid: use values from 1 to 12, or a name such as jan'],
    ['61 * * * * *', 'the second field: "61" is not valid: use values from 0 to 59'],
    ['1,,2 * * * *', 'the minute field: "" is not valid: use values from 0 to 59'],
    [
      '30-10 * * * *',
      'the minute field: "30-10" ends before it begins: write two ranges, with a comma between',
    ],
    [
      '* * * * fri-mon',
      'the day-of-week field: "fri-mon" ends before it begins: write two ranges, with a comma between',
    ],
    ['5/15 * * * *', 'the minute field: "5/15" steps from a single value: write 5-59/15'],
    ['*/0 * * * *', 'the minute field: "*/0" is not valid: use a step from 1 to 59'],
    ['*/60 * * * *', 'the minute field: "*/60" is not valid: use a step from 1 to 59'],
    ['*/5/5 * * * *', 'the minute field: "*/5/5" has more than one step'],
    ['1-2-3 * * * *', 'the minute field: "1-2-3" has more than two ends'],
    ['*-5 * * * *', 'the minute field: "*-5" is not valid: use values from 0 to 59'],
    ['* * L * *', 'the day-of-month field: "l" is not valid: use values from 1 to 31'],
    ['? * * * *', 'the minute field: "?" is not valid: use values from 0 to 59'],
    ['1.5 * * * *', 'the minute field: "1.5" is not valid: use values from 0 to 59'],
    ['+5 * * * *', 'the minute field: "+5" is not valid: use values from 0 to 59'],
  ]) {
    t.equal(fields(text), detail, text);
  }
  const accepted =
    'use five fields (minute hour day-of-month month day-of-week), six with seconds first, or one of ' +
    '@hourly @daily @weekly @monthly @yearly';
  for (const text of ['', '* * * *', '* * * * * * *', '@reboot', '@every 5m', 'hello']) {
    t.equal(fields(text), `${JSON.stringify(text)} is not a cron expression: ${accepted}`);
  }
});

t.test('a long text is refused unread', async t => {
  t.equal(fields(`${'1,'.repeat(130)}1 * * * *`), 'the expression is longer than 256 characters');
});
