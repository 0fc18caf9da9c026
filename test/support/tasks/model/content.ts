import type { RetryPolicy } from '../../../../src/tasks/model/retry-policy.ts';
import type { Task, TaskBody } from '../../../../src/tasks/model/task.ts';
import type { TaskRecord } from './state.ts';

/** What can be changed of a task, in the order in which histories name it. */
export interface Content {
  readonly type: string | null;
  readonly payload: string | null;
  readonly headers: TaskBody['headers'];
  readonly priority: Task['priority'];
  readonly runAt: number;
  readonly expiresAt: number | null;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** A patch, with times in place of delays. */
export type ContentPatch = Partial<Content>;

const NAMES: readonly (readonly [keyof Content, string])[] = [
  ['type', 'type'],
  ['payload', 'payload'],
  ['headers', 'headers'],
  ['priority', 'priority'],
  ['runAt', 'run_at'],
  ['expiresAt', 'expires_at'],
  ['timeoutMs', 'timeout'],
  ['retry', 'retry'],
  ['tags', 'tags'],
  ['metadata', 'metadata'],
];

/** The names, as histories have them, of what the patch would really change. */
export function changedNames(record: TaskRecord, patch: ContentPatch): string[] {
  const present: Content = { ...record.task, ...record.body };
  return NAMES.filter(
    ([field]) =>
      patch[field] !== undefined && JSON.stringify(patch[field]) !== JSON.stringify(present[field]),
  ).map(([, name]) => name);
}

/** The task and the body with the patch applied. What follows from a new time is the caller's. */
export function patched(
  record: TaskRecord,
  patch: ContentPatch,
): { readonly changes: Partial<Task>; readonly body: TaskBody } {
  const { payload = record.body.payload, headers = record.body.headers, ...changes } = patch;
  return { changes, body: { ...record.body, payload, headers } };
}
