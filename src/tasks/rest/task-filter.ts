import { isId } from '../model/ids.ts';
import { TASK_STATUSES, type TaskStatus } from '../model/task.ts';
import { parseTimeRange } from '../model/time-range.ts';
import type { TaskQuery } from '../store/requests.ts';
import { findWorker } from './find-worker.ts';
import type { RestParts } from './parts.ts';
import { Problem } from './problem.ts';

/** Which tasks a list or an action is about, as texts (specification 3.10). */
export interface TaskFilterTexts {
  readonly worker?: string | undefined;
  readonly status?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly schedule?: string | undefined;
}

export const FILTER_DESCRIPTIONS = {
  worker: 'Name or id of a worker.',
  status: `One status, or several with commas between: ${TASK_STATUSES.join(', ')}.`,
  start:
    'Created at or after: a time, a date, a month, a year, Unix seconds or milliseconds, or a time ago such as -24h.',
  end: 'Created before; a date, a month or a year is meant with all of it.',
  schedule: 'Id or name of a schedule.',
} as const satisfies Record<keyof TaskFilterTexts, string>;

export type TaskFilter = Pick<
  TaskQuery,
  'workerId' | 'statuses' | 'scheduleId' | 'createdFrom' | 'createdBefore'
>;

/**
 * Reads a filter. An empty text is as good as none.
 *
 * @returns null when no task can match, because there is no such worker or schedule
 * @throws Problem `invalid_status` or `invalid_time_range`
 */
export async function readTaskFilter(
  parts: Pick<RestParts, 'directory' | 'store'>,
  tenant: string,
  texts: TaskFilterTexts,
  nowMs: number,
): Promise<TaskFilter | null> {
  const statuses = readStatuses(texts.status);
  const range = readRange(texts, nowMs);
  const worker = texts.worker ? await findWorker(parts.directory, tenant, texts.worker) : undefined;
  const scheduleId = texts.schedule ? await findScheduleId(parts, tenant, texts.schedule) : undefined;
  if (worker === null || scheduleId === null) return null;
  return {
    workerId: worker?.id ?? null,
    statuses,
    scheduleId: scheduleId ?? null,
    createdFrom: range.from,
    createdBefore: range.before,
  };
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
