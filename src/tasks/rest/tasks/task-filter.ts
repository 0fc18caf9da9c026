import { isId } from '../../model/ids.ts';
import { TASK_STATUSES, type TaskStatus } from '../../model/task.ts';
import { parseTimeRange } from '../../model/time.ts';
import type { TaskSearch } from '../../store/requests.ts';
import { invalidParameter, Problem } from '../checks/problem.ts';
import { findWorker } from '../fields/named-documents.ts';
import type { RestParts } from '../http/parts.ts';

export const FILTER_DESCRIPTIONS = {
  worker: 'Name or id of a worker.',
  status: `One status, or several with commas between: ${TASK_STATUSES.join(', ')}.`,
  start:
    'Created at or after: a time, a date, a month, a year, Unix seconds or milliseconds, or a time ago such as -24h.',
  end: 'Created before; a date, a month or a year is meant with all of it.',
  schedule: 'Id or name of a schedule.',
  key: 'The `key` of the task, whether it still holds it or not.',
  type: 'The whole `type`.',
  tag: 'One of the `tags`.',
  group: 'The `group` of the task.',
  error: 'Part of the code or of the message of `last_error`, in upper or lower case.',
  by: '`created_at` (default), or `run_at`: the waiting tasks (`scheduled`, `retry`) of one `worker` by the time at which they are due, to which `start` and `end` then apply.',
} as const satisfies Readonly<Record<string, string>>;

/** Which tasks a list or an action is about, as texts (specification 3.10). */
export type TaskFilterTexts = Readonly<Partial<Record<keyof typeof FILTER_DESCRIPTIONS, string>>>;

type TaskFilter = Omit<TaskSearch, 'after' | 'limit' | 'order'>;

/** The longest texts that tasks can have there, and a bound for what is looked for in messages. */
const MAX_LENGTHS = { key: 255, type: 128, tag: 64, group: 128, error: 200 } as const;

/** What can be listed by the time at which it is due. */
const WAITING: readonly TaskStatus[] = ['scheduled', 'retry'];

/**
 * Reads a filter. An empty text is as good as none.
 *
 * @param meant statuses that a filter without any is about; null for all
 * @returns null when no task can match, because there is no such schedule
 * @throws Problem `invalid_status`, `invalid_time_range`, `invalid_parameter`, or `validation_failed` for an unknown worker
 */
export async function readTaskFilter(
  parts: Pick<RestParts, 'directory' | 'store'>,
  tenant: string,
  texts: TaskFilterTexts,
  nowMs: number,
  meant: readonly TaskStatus[] | null = null,
): Promise<TaskFilter | null> {
  const by = readOrder(texts);
  const statuses = readStatuses(texts.status) ?? meant;
  const range = readRange(texts, nowMs);
  const parted = {
    key: readText(texts, 'key'),
    type: readText(texts, 'type'),
    tag: readText(texts, 'tag'),
    group: readText(texts, 'group'),
    error: readText(texts, 'error'),
  };
  const workerId = texts.worker ? await findWorkerId(parts, tenant, texts.worker) : null;
  const scheduleId = texts.schedule ? await findScheduleId(parts, tenant, texts.schedule) : undefined;
  if (scheduleId === null) return null;
  return {
    by,
    workerId,
    statuses: by === 'run_at' ? waitingStatuses(statuses) : statuses,
    scheduleId: scheduleId ?? null,
    createdFrom: range.from,
    createdBefore: range.before,
    ...parted,
  };
}

function readOrder({ by, worker }: TaskFilterTexts): TaskFilter['by'] {
  if (by === undefined || by === '' || by === 'created_at') return 'created_at';
  if (by !== 'run_at') throw invalidParameter('by', 'by is created_at or run_at');
  if (worker) return by;
  throw invalidParameter('by', 'by=run_at lists the waiting tasks of one worker: name it with worker');
}

/** Null for both, which needs no filter. */
function waitingStatuses(statuses: readonly TaskStatus[] | null): readonly TaskStatus[] | null {
  const waiting = WAITING.filter(status => statuses?.includes(status) ?? true);
  if (waiting.length > 0) return waiting.length === WAITING.length ? null : waiting;
  throw invalidParameter('by', `by=run_at is for tasks that wait: ${WAITING.join(', ')}`);
}

function readText(texts: TaskFilterTexts, name: keyof typeof MAX_LENGTHS): string | null {
  const text = texts[name] ?? '';
  if (text === '') return null;
  if (text.length <= MAX_LENGTHS[name]) return text;
  throw invalidParameter(name, `${name} has at most ${MAX_LENGTHS[name]} characters`);
}

/**
 * The id of a worker by its name or id. A worker that was deleted is found by its id as long as it has tasks.
 *
 * @throws Problem `validation_failed`
 */
export async function findWorkerId(
  { directory, store }: Pick<RestParts, 'directory' | 'store'>,
  tenant: string,
  text: string,
): Promise<string> {
  const worker = await findWorker(directory, tenant, text);
  if (worker !== null) return worker.id;
  if (isId('worker', text)) {
    const counts = await store.counts(tenant, text);
    if (Object.values(counts).some(count => count > 0)) return text;
  }
  const detail = `there is no worker ${JSON.stringify(text.slice(0, 64))}: give the name or the id of one`;
  throw new Problem('validation_failed', detail, {
    errors: [{ parameter: 'worker', code: 'not_found', detail }],
  });
}

function readStatuses(text: string | undefined): readonly TaskStatus[] | null {
  if (text === undefined || text === '') return null;
  const names = [...new Set(text.split(','))];
  const unknown = names.find(name => !(TASK_STATUSES as readonly string[]).includes(name));
  if (unknown === undefined) return names as TaskStatus[];
  const shown = JSON.stringify(unknown.slice(0, 40));
  const detail = `${shown} is no status: there are ${TASK_STATUSES.join(', ')}`;
  throw new Problem('invalid_status', detail, {
    errors: [{ parameter: 'status', code: 'invalid_status', detail }],
    members: { allowed: TASK_STATUSES },
  });
}

function readRange(
  { start, end }: TaskFilterTexts,
  nowMs: number,
): { readonly from: number | null; readonly before: number | null } {
  const range = parseTimeRange(start || undefined, end || undefined, nowMs);
  if (range.kind === 'range') return range;
  const { parameter, detail } = range;
  throw new Problem('invalid_time_range', detail, {
    errors: [{ parameter, code: 'invalid_time_range', detail }],
  });
}

async function findScheduleId(
  { store }: Pick<RestParts, 'store'>,
  tenant: string,
  text: string,
): Promise<string | null> {
  // Tasks outlive their schedule.
  if (isId('schedule', text)) return text;
  const found = await store.findDocument(tenant, `name:schedule:${text.slice(0, 255)}`);
  return found?.kind === 'schedule' ? found.id : null;
}
