import { isId } from '../../model/ids.ts';
import { TASK_STATUSES, type TaskStatus } from '../../model/task.ts';
import { parseTimeRange } from '../../model/time.ts';
import { documentName } from '../../store/put-document.ts';
import type { TaskSearch } from '../../store/requests.ts';
import { PLAIN_TEXT } from '../checks/plain-text.ts';
import { invalidParameter, Problem, problemAt } from '../checks/problem.ts';
import { findWorker, isNameOf } from '../fields/named-documents.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

export const FILTER_DESCRIPTIONS = {
  worker: 'Name or id of a worker.',
  status: `One status or a comma-separated list: ${TASK_STATUSES.join(', ')}.`,
  start:
    'Created at or after this time: a time, a date, a month, a year, Unix seconds or milliseconds, or a relative time such as -24h.',
  end: 'Created before this time. A date, a month or a year is included entirely.',
  schedule: 'Id or name of a schedule.',
  key: 'The `key` of the task, even if it is no longer reserved.',
  type: 'The exact `type` of the task.',
  tag: 'One of the `tags` of the task.',
  group: 'The `group` of the task.',
  error: 'Part of the code or the message of `last_error`, ignoring case.',
  by: '`created_at` (default), or `run_at` to list the waiting tasks (`scheduled`, `retry`) of one `worker` by their due time. `start` and `end` then apply to the due time.',
} as const satisfies Readonly<Record<string, string>>;

/** The filter of a list or an action, as texts (specification 3.10). */
export type TaskFilterTexts = Readonly<Partial<Record<keyof typeof FILTER_DESCRIPTIONS, string>>>;

type TaskFilter = Omit<TaskSearch, 'after' | 'limit' | 'order'>;

/** Maximum lengths: those of the fields of tasks, and a limit for the text that is searched in errors. */
const MAX_LENGTHS = { key: 255, type: 128, tag: 64, group: 128, error: 200 } as const;

/** The statuses of tasks that can be listed by due time. */
const WAITING: readonly TaskStatus[] = ['scheduled', 'retry'];

/**
 * Reads a filter. Empty texts are ignored.
 *
 * @param meant the statuses of a filter without a status; null for all
 * @returns null if no task can match, because the schedule does not exist
 * @throws Problem `invalid_status`, `invalid_time_range`, `invalid_parameter`, or `validation_failed` for an unknown worker
 */
export async function readTaskFilter(
  parts: Pick<RestParts, 'directory' | 'store'>,
  { tenant, nowMs }: Pick<Call, 'tenant' | 'nowMs'>,
  texts: TaskFilterTexts,
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
  if (by !== 'run_at') throw invalidParameter('by', 'by must be created_at or run_at');
  if (worker) return by;
  throw invalidParameter(
    'by',
    'by=run_at lists the waiting tasks of one worker and requires the parameter worker',
  );
}

/** Null for all waiting tasks, which need no filter by status. */
function waitingStatuses(statuses: readonly TaskStatus[] | null): readonly TaskStatus[] | null {
  const waiting = WAITING.filter(status => statuses?.includes(status) ?? true);
  if (waiting.length > 0) return waiting.length === WAITING.length ? null : waiting;
  throw invalidParameter('by', `by=run_at lists only waiting tasks: ${WAITING.join(', ')}`);
}

function readText(texts: TaskFilterTexts, name: keyof typeof MAX_LENGTHS): string | null {
  const text = texts[name] ?? '';
  if (text === '') return null;
  if (text.length > MAX_LENGTHS[name]) {
    throw invalidParameter(name, `${name} must have at most ${MAX_LENGTHS[name]} characters`);
  }
  // Tags and errors are compared after they were read, and can contain any character.
  const isPlain = name === 'tag' || name === 'error' || PLAIN_TEXT.pattern.test(text);
  if (!isPlain) throw invalidParameter(name, `${name} must ${PLAIN_TEXT.accepts}`);
  return text;
}

/**
 * Finds the id of a worker by name or id. A deleted worker can be found by its id while it has tasks.
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
  const detail = `There is no worker ${JSON.stringify(text.slice(0, 64))}.`;
  throw problemAt({ parameter: 'worker' }, 'validation_failed', detail, 'not_found');
}

function readStatuses(text: string | undefined): readonly TaskStatus[] | null {
  if (text === undefined || text === '') return null;
  const names = [...new Set(text.split(','))];
  const unknown = names.find(name => !(TASK_STATUSES as readonly string[]).includes(name));
  if (unknown === undefined) return names as TaskStatus[];
  const shown = JSON.stringify(unknown.slice(0, 40));
  const detail = `${shown} is not a status; statuses are: ${TASK_STATUSES.join(', ')}`;
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
  throw problemAt({ parameter }, 'invalid_time_range', detail);
}

async function findScheduleId(
  { store }: Pick<RestParts, 'store'>,
  tenant: string,
  text: string,
): Promise<string | null> {
  // Tasks can outlive their schedule, so the id is not looked up.
  if (isId('schedule', text)) return text;
  if (!isNameOf('schedule', text)) return null;
  const found = await store.findDocument(tenant, documentName('schedule', text));
  return found?.kind === 'schedule' ? found.id : null;
}
