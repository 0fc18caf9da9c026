import { randomUUID } from 'node:crypto';
import { integer } from '../../settings/kinds.ts';
import { aligned } from '../aligned.ts';
import { UsageFault } from '../command-fault.ts';
import { parseFlags, readFlag } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { printable } from '../printable.ts';
import { payloadOf } from './create-task.ts';
import { allOf } from './pages.ts';
import { noArguments, onlyArgument, targetOf } from './target.ts';
import { callApi, type Json, rowsOf } from './tasks-api.ts';
import { COMMON_FLAGS, CREATE_SCHEDULE_FLAGS, PREVIEW_FLAGS } from './tasks-flags.ts';

type Part = (args: readonly string[], io: CliIo) => Promise<number>;

const PARTS: Readonly<Record<string, Part>> = {
  list,
  show,
  create,
  pause: (args, io) => change(args, io, { paused: true }, 'paused'),
  resume: (args, io) => change(args, io, { paused: false }, 'resumed'),
  trigger,
  preview,
  delete: remove,
};

/** `sluice tasks schedules`, with what to do; without, a list. */
export async function schedules(args: readonly string[], io: CliIo): Promise<number> {
  const [name = 'list', ...rest] = args;
  if (name.startsWith('-')) return await list(args, io);
  if (Object.hasOwn(PARTS, name)) return await PARTS[name](rest, io);
  throw new UsageFault(`schedules: there is no "${name}". There are ${Object.keys(PARTS).join(', ')}.`);
}

async function list(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const found = await allOf(targetOf(flags, io), '/api/v1/schedules', new URLSearchParams(), Infinity);
  if (flags.json) io.stdout(`${JSON.stringify(found)}\n`);
  else if (found.length === 0)
    io.stdout('There are no schedules. "sluice tasks schedules create" makes one.\n');
  else {
    const rows = [['NAME', 'WORKER', 'WHEN', 'STATE', 'NEXT RUN', 'LAST RUN'], ...found.map(cells)];
    for (const line of aligned(rows)) io.stdout(`${printable(line)}\n`);
  }
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
    state === 'active' ? next : '',
    last === null ? '' : String(last['scheduled_for']),
  ];
}

async function show(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = pathOf(onlyArgument(positionals, 'name of the schedule'));
  const schedule = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) io.stdout(`${JSON.stringify(schedule)}\n`);
  else {
    const rows = Object.entries(schedule).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    for (const line of aligned(rows)) io.stdout(`${printable(line)}\n`);
  }
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
  const { type, priority, payload, jitter, overlap, paused } = flags;
  const maxRuns = flags['max-runs'];
  const task = { ...given({ type, priority }), ...(payload !== '' && { payload: payloadOf(payload) }) };
  const schedule = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: '/api/v1/schedules',
    body: {
      name,
      worker,
      ...timing(flags),
      ...given({ jitter, overlap }),
      ...(maxRuns !== '' && {
        max_runs: readFlag('max-runs', maxRuns, integer({ min: 1, max: 1_000_000_000 })),
      }),
      ...(paused && { paused }),
      ...(Object.keys(task).length > 0 && { task }),
    },
    idempotencyKey: randomUUID(),
  });
  const [next] = schedule['next_runs'] as readonly string[];
  return report(schedule, `${schedule['id']}  ${name}  ${paused ? 'paused' : `next run ${next}`}`, flags, io);
}

async function change(args: readonly string[], io: CliIo, body: Json, word: string): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, 'name of the schedule');
  const schedule = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  return report(schedule, `${name} ${word}`, flags, io);
}

async function trigger(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = `${pathOf(onlyArgument(positionals, 'name of the schedule'))}/trigger`;
  const task = await callApi(targetOf(flags, io), { method: 'POST', path, idempotencyKey: randomUUID() });
  return report(task, `${task['id']}  ${task['status']}`, flags, io);
}

async function remove(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, 'name of the schedule');
  await callApi(targetOf(flags, io), { method: 'DELETE', path: pathOf(name) });
  return report({ deleted: name }, `${name} deleted; its tasks stay`, flags, io);
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
  if (flags.json) io.stdout(`${JSON.stringify(answer)}\n`);
  else {
    const rows = rowsOf(target, answer, 'times').map(time => [
      String(time['local']),
      String(time['at']),
      String(time['note'] ?? ''),
    ]);
    if (rows.length === 0) io.stdout('The schedule has no time from then on.\n');
    else
      for (const line of aligned([['LOCAL TIME', 'UTC', 'NOTE'], ...rows])) io.stdout(`${printable(line)}\n`);
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

function report(answer: Json, line: string, flags: { readonly json: boolean }, io: CliIo): number {
  io.stdout(`${flags.json ? JSON.stringify(answer) : printable(line)}\n`);
  return EXIT.done;
}
