import { randomUUID } from 'node:crypto';
import { integer } from '../../settings/kinds/kinds.ts';
import { type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
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
import { COMMON_FLAGS, PAYLOAD_FLAGS, payloadFields, TASK_FLAGS, TEXT } from './tasks-flags.ts';

const TIMING_FLAGS = {
  cron: { ...TEXT, placeholder: 'TEXT', help: "when to fire: '30 2 * * *', '@daily'" },
  every: { ...TEXT, placeholder: 'DURATION', help: 'fire at this interval, instead of --cron: 1h30m' },
  timezone: { ...TEXT, placeholder: 'NAME', help: 'time zone of --cron: Europe/Berlin; without it, UTC' },
  'start-at': { ...TEXT, placeholder: 'TIME', help: 'no run before then: 2026-03-01T10:00:00Z' },
  'end-at': { ...TEXT, placeholder: 'TIME', help: 'no run then or later' },
} as const;

/** Fields of a schedule. */
const SCHEDULE_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  'max-runs': { ...TEXT, placeholder: 'N', help: 'end after this number of runs' },
  jitter: { ...TEXT, placeholder: 'DURATION', help: 'delay each run by up to this much' },
  overlap: { ...TEXT, placeholder: 'WORD', help: 'skip, allow, queue_one or cancel_running' },
  ...PAYLOAD_FLAGS,
  ...TASK_FLAGS,
  'expires-in': {
    ...TEXT,
    placeholder: 'DURATION',
    help: 'expire tasks that have not started this long after their time',
  },
} as const;

const CREATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  paused: { kind: 'switch', help: 'create it paused' },
} as const;

const UPDATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  worker: { ...TEXT, placeholder: 'NAME', help: 'create tasks for this worker from now on' },
} as const;

const PREVIEW_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  count: { kind: 'text', placeholder: 'N', default: '10', help: 'number of times to show, at most 50' },
  from: { ...TEXT, placeholder: 'TIME', help: 'start there instead of now' },
} as const;

/** `sluice tasks schedules` */
export const SCHEDULE_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'schedules list',
    takes: '',
    summary: 'list schedules',
    flags: COMMON_FLAGS,
    run: list,
  },
  {
    name: 'schedules create',
    takes: 'NAME WORKER',
    summary: 'create a schedule',
    flags: CREATE_SCHEDULE_FLAGS,
    notes:
      "Example:\n  sluice tasks schedules create nightly mailer --cron '30 2 * * *' --timezone Europe/Berlin",
    run: create,
  },
  {
    name: 'schedules show',
    takes: 'NAME',
    summary: 'one schedule',
    flags: COMMON_FLAGS,
    run: show,
  },
  {
    name: 'schedules update',
    takes: 'NAME',
    summary: 'change what the flags say',
    flags: UPDATE_SCHEDULE_FLAGS,
    run: update,
  },
  {
    name: 'schedules pause',
    takes: 'NAME',
    summary: 'pause a schedule',
    flags: COMMON_FLAGS,
    run: (args, io) => change(args, io, { paused: true }, 'paused'),
  },
  {
    name: 'schedules resume',
    takes: 'NAME',
    summary: 'resume a paused schedule',
    flags: COMMON_FLAGS,
    run: (args, io) => change(args, io, { paused: false }, 'resumed'),
  },
  {
    name: 'schedules trigger',
    takes: 'NAME',
    summary: 'create a task of a schedule now',
    flags: COMMON_FLAGS,
    run: trigger,
  },
  {
    name: 'schedules preview',
    takes: '[NAME]',
    summary: 'when a schedule fires, or would fire with the flags',
    flags: PREVIEW_FLAGS,
    run: preview,
  },
  {
    name: 'schedules delete',
    takes: 'NAME',
    summary: 'delete a schedule; its tasks stay',
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
    printLine('There are no schedules. "sluice tasks schedules create" makes one.', io);
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
      'schedules create takes two arguments: the name of the schedule, and that of its worker.',
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
  const body = { ...given({ worker }), ...scheduleFields(flags) };
  if (Object.keys(body).length === 0) throw new UsageFault('say what to change, as --every 2h.');
  const schedule = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  report(schedule, `${name} changed`, flags, io);
  return EXIT.done;
}

/** What flags say about a schedule, besides its names and whether it is paused. @throws UsageFault, CommandFault */
function scheduleFields(flags: FlagValues<typeof SCHEDULE_FLAGS>): Json {
  const { type, priority, group, tags, jitter, overlap } = flags;
  const maxRuns = flags['max-runs'];
  const task = {
    ...given({ type, priority, group, expires_in: flags['expires-in'] }),
    ...(tags !== '' && { tags: tags.split(',') }),
    ...payloadFields(flags),
  };
  return {
    ...timing(flags),
    ...given({ jitter, overlap }),
    ...(maxRuns !== '' && {
      max_runs: readFlag('max-runs', maxRuns, integer({ min: 1, max: 1_000_000_000 })),
    }),
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
  report({ deleted: name }, `${name} deleted; its tasks stay`, flags, io);
  return EXIT.done;
}

async function preview(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, PREVIEW_FLAGS);
  const target = targetOf(flags, io);
  const count = readFlag('count', flags.count, integer({ min: 1, max: 50 }));
  const body = { ...given({ from: flags.from }), count };
  const fields =
    positionals.length === 0
      ? timing(flags)
      : storedTiming(
          await callApi(target, { method: 'GET', path: pathOf(onlyArgument(positionals, 'name')) }),
          timing(flags),
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
    if (rows.length === 0) printLine('The schedule has no time from then on.', io);
    else printTable(['LOCAL TIME', 'UTC', 'NOTE'], rows, io);
  }
  return EXIT.done;
}

/** When a stored schedule fires, changed by what the flags say. */
function storedTiming(schedule: Json, changes: Json): Json {
  const { cron, every, phase, timezone, dst, start_at, end_at } = schedule;
  const pattern = cron === null ? { every, phase } : { cron };
  const replaces = 'cron' in changes || 'every' in changes;
  return { ...(replaces ? {} : pattern), timezone, dst, start_at, end_at, ...changes };
}

function timing(
  flags: Readonly<Record<'cron' | 'every' | 'timezone' | 'start-at' | 'end-at', string>>,
): Json {
  const { cron, every, timezone } = flags;
  return given({ cron, every, timezone, start_at: flags['start-at'], end_at: flags['end-at'] });
}

function given(texts: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

function pathOf(name: string): string {
  return `/api/v1/schedules/${encodeURIComponent(name)}`;
}
