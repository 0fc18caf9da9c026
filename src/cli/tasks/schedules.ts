import { randomUUID } from 'node:crypto';
import { integer } from '../../settings/kinds/kinds.ts';
import { TEMPLATE_FIELDS } from '../../tasks/rest/fields/content-fields.ts';
import { SCHEDULE_FIELDS, TIMING } from '../../tasks/rest/schedules/schedule-fields.ts';
import { type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { fieldsOfFlags, flagsOf } from './field-flags.ts';
import { allOf, callApi, type Json, rowsOf } from './tasks-api.ts';
import {
  noArguments,
  onlyArgument,
  printFields,
  printJson,
  printLine,
  printTable,
  report,
  type TasksCommand,
  targetOf,
  timeText,
} from './tasks-command.ts';
import { COMMON_FLAGS, PAYLOAD_FLAGS, payloadFields, TEXT } from './tasks-flags.ts';

const TIMING_FLAGS = flagsOf(TIMING);

/** Fields of a schedule. */
const SCHEDULE_FLAGS = {
  ...COMMON_FLAGS,
  ...flagsOf(SCHEDULE_FIELDS),
  ...PAYLOAD_FLAGS,
  ...flagsOf(TEMPLATE_FIELDS),
} as const;

const CREATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  paused: { kind: 'switch', help: 'create the schedule paused' },
} as const;

const UPDATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  worker: { ...TEXT, placeholder: 'NAME', help: 'worker that receives the tasks from now on' },
} as const;

const PREVIEW_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  count: { kind: 'text', placeholder: 'N', default: '10', help: 'number of times to show, at most 50' },
  from: { ...TEXT, placeholder: 'TIME', help: 'first time to consider (default: now)' },
} as const;

/** `sluice tasks schedules` */
export const SCHEDULE_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'schedules list',
    examples: ['sluice tasks schedules list'],
    takes: '',
    summary: 'list schedules',
    flags: COMMON_FLAGS,
    run: list,
  },
  {
    name: 'schedules create',
    examples: [
      "sluice tasks schedules create nightly mailer --cron '30 2 * * *' \\\n    --timezone Europe/Berlin",
      'sluice tasks schedules create poll mailer --every 15m --overlap skip',
    ],
    takes: 'NAME WORKER',
    summary: 'create a schedule',
    flags: CREATE_SCHEDULE_FLAGS,
    run: create,
  },
  {
    name: 'schedules show',
    examples: ['sluice tasks schedules show nightly'],
    takes: 'NAME',
    summary: 'show a schedule',
    flags: COMMON_FLAGS,
    run: show,
  },
  {
    name: 'schedules update',
    examples: ["sluice tasks schedules update nightly --cron '0 3 * * *'"],
    takes: 'NAME',
    summary: 'change the fields given by flags',
    flags: UPDATE_SCHEDULE_FLAGS,
    run: update,
  },
  {
    name: 'schedules pause',
    examples: ['sluice tasks schedules pause nightly'],
    takes: 'NAME',
    summary: 'pause a schedule',
    flags: COMMON_FLAGS,
    run: (args, io) => change(args, io, { paused: true }, 'paused'),
  },
  {
    name: 'schedules resume',
    examples: ['sluice tasks schedules resume nightly'],
    takes: 'NAME',
    summary: 'resume a paused schedule',
    flags: COMMON_FLAGS,
    run: (args, io) => change(args, io, { paused: false }, 'resumed'),
  },
  {
    name: 'schedules trigger',
    examples: ['sluice tasks schedules trigger nightly'],
    takes: 'NAME',
    summary: 'create a task of a schedule immediately',
    flags: COMMON_FLAGS,
    run: trigger,
  },
  {
    name: 'schedules preview',
    examples: [
      'sluice tasks schedules preview nightly --count 5',
      "sluice tasks schedules preview --cron '0 9 * * 1-5' --timezone Europe/Berlin",
    ],
    takes: '[NAME]',
    summary: 'show when a schedule fires, or would fire with the flags',
    flags: PREVIEW_FLAGS,
    run: preview,
  },
  {
    name: 'schedules delete',
    examples: ['sluice tasks schedules delete nightly'],
    takes: 'NAME',
    summary: 'delete a schedule; its tasks are kept',
    flags: COMMON_FLAGS,
    run: remove,
  },
];

async function list(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const found = await allOf(targetOf(flags, io), '/api/v1/schedules', new URLSearchParams(), Infinity);
  if (flags.json) printJson(found, io);
  else if (found.length === 0)
    printLine('There are no schedules. "sluice tasks schedules create" creates one.', io);
  else printTable(['NAME', 'WORKER', 'WHEN', 'STATE', 'NEXT RUN', 'LAST RUN'], found.map(cells), io);
  return EXIT.done;
}

function cells(schedule: Json): string[] {
  const [next] = schedule['next_runs'] as readonly string[];
  const last = schedule['last_run'] as Json | null;
  const state = schedule['paused'] === true ? 'paused' : next === undefined ? 'ended' : 'active';
  return [
    String(schedule['name']),
    String(schedule['worker']),
    schedule['cron'] === null ? `every ${schedule['every']}` : `${schedule['cron']} ${schedule['timezone']}`,
    state,
    state === 'active' ? timeText(next) : '',
    timeText(last?.['scheduled_for']),
  ];
}

async function show(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = pathOf(onlyArgument(positionals, 'name of the schedule'));
  const schedule = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(schedule, io);
  else printFields(schedule, io);
  return EXIT.done;
}

async function create(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_SCHEDULE_FLAGS);
  if (positionals.length !== 2) {
    throw new UsageFault(
      'schedules create takes two arguments: the name of the schedule and the name of its worker.',
    );
  }
  const [name, worker] = positionals;
  const { paused } = flags;
  const schedule = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: '/api/v1/schedules',
    body: { name, worker, ...scheduleFields(flags), ...(paused && { paused }) },
    idempotencyKey: randomUUID(),
  });
  const [next] = schedule['next_runs'] as readonly string[];
  const state = paused ? 'paused' : next === undefined ? 'no runs' : `next run ${timeText(next)}`;
  report(schedule, `${schedule['id']}  ${name}  ${state}`, flags, io);
  return EXIT.done;
}

async function update(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, UPDATE_SCHEDULE_FLAGS);
  const name = onlyArgument(positionals, 'name of the schedule');
  const { worker } = flags;
  const body = { ...(worker !== '' && { worker }), ...scheduleFields(flags) };
  if (Object.keys(body).length === 0)
    throw new UsageFault('nothing to change: give at least one flag, such as --every 2h.');
  const schedule = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  report(schedule, `${name} changed`, flags, io);
  return EXIT.done;
}

/** Fields of a schedule from flags, except its name, its worker and `paused`. @throws UsageFault, CommandFault */
function scheduleFields(flags: FlagValues<typeof SCHEDULE_FLAGS>): Json {
  const task = { ...fieldsOfFlags(TEMPLATE_FIELDS, flags), ...payloadFields(flags) };
  return {
    ...fieldsOfFlags(SCHEDULE_FIELDS, flags),
    ...(Object.keys(task).length > 0 && { task }),
  };
}

async function change(args: readonly string[], io: CliIo, body: Json, word: string): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, 'name of the schedule');
  const schedule = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  report(schedule, `${name} ${word}`, flags, io);
  return EXIT.done;
}

async function trigger(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = `${pathOf(onlyArgument(positionals, 'name of the schedule'))}/trigger`;
  const task = await callApi(targetOf(flags, io), { method: 'POST', path, idempotencyKey: randomUUID() });
  report(task, `${task['id']}  ${task['status']}`, flags, io);
  return EXIT.done;
}

async function remove(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, 'name of the schedule');
  await callApi(targetOf(flags, io), { method: 'DELETE', path: pathOf(name) });
  report({ deleted: name }, `${name} deleted; its tasks are kept`, flags, io);
  return EXIT.done;
}

async function preview(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, PREVIEW_FLAGS);
  const target = targetOf(flags, io);
  const count = readFlag('count', flags.count, integer({ min: 1, max: 50 }));
  const { from } = flags;
  const body = { ...(from !== '' && { from }), count };
  const given = fieldsOfFlags(TIMING, flags);
  const fields =
    positionals.length === 0
      ? given
      : storedTiming(
          await callApi(target, { method: 'GET', path: pathOf(onlyArgument(positionals, 'name')) }),
          given,
        );
  const answer = await callApi(target, {
    method: 'POST',
    path: '/api/v1/schedules/preview',
    body: { ...fields, ...body },
  });
  if (flags.json) printJson(answer, io);
  else {
    const rows = rowsOf(target, answer, 'times').map(time => [
      timeText(time['local']),
      timeText(time['at']),
      String(time['note'] ?? ''),
    ]);
    if (rows.length === 0) printLine('The schedule does not fire after that time.', io);
    else printTable(['LOCAL TIME', 'UTC', 'NOTE'], rows, io);
  }
  return EXIT.done;
}

/** The timing of a stored schedule with the changes from flags. */
function storedTiming(schedule: Json, changes: Json): Json {
  const { cron, every, phase, timezone, dst, start_at, end_at } = schedule;
  const pattern = cron === null ? { every, phase } : { cron };
  const replaces = 'cron' in changes || 'every' in changes;
  return { ...(replaces ? {} : pattern), timezone, dst, start_at, end_at, ...changes };
}

function pathOf(name: string): string {
  return `/api/v1/schedules/${encodeURIComponent(name)}`;
}
