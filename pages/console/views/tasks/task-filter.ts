import { TASK_STATUSES, type TaskStatus } from '../../../service/task-status.ts';

/** Filters of `GET /api/v1/tasks` that the address has under the same names. */
export const FILTER_FIELDS = {
  worker: 'Worker',
  type: 'Type',
  tag: 'Tag',
  group: 'Group',
  key: 'Key',
  schedule: 'Schedule',
  error: 'Error contains',
  start: 'Created from',
  end: 'Created before',
} as const;
export type FilterField = keyof typeof FILTER_FIELDS;

/** The parameters of the address, as `useRoute` has them. */
type Query = Readonly<Record<string, string>>;

/** The filter that an address describes, in the form of the API, without the order and the page. */
export function filterOf(query: Query): Readonly<Record<string, string>> {
  const names = ['status', 'by', ...Object.keys(FILTER_FIELDS)];
  return Object.fromEntries(names.flatMap(name => (query[name] ? [[name, query[name]]] : [])));
}

/** The statuses that the address selects; empty for all. */
export function statusesOf({ status = '' }: Query): readonly TaskStatus[] {
  const named = status.split(',');
  return TASK_STATUSES.filter(each => named.includes(each));
}

/** The value of the parameter `status` after one status was switched on or off. */
export function toggled(query: Query, status: TaskStatus): string {
  const now = statusesOf(query);
  const next = now.includes(status) ? now.filter(each => each !== status) : [...now, status];
  return TASK_STATUSES.filter(each => next.includes(each)).join(',');
}

/** A filter in words: `worker mailer, failed, tag urgent`; `all tasks` if it selects all. */
export function filterText(filter: Readonly<Record<string, string>>): string {
  const { status = '', by, ...rest } = filter;
  const parts = Object.entries(rest).map(
    ([name, value]) => `${FILTER_FIELDS[name as FilterField].toLowerCase()} ${value}`,
  );
  if (status !== '') parts.unshift(status.replaceAll(',', ', '));
  if (by === 'run_at') parts.push('waiting, by due time');
  return parts.length === 0 ? 'all tasks' : parts.join(', ');
}
