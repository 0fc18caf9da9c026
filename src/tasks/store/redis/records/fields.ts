import { HISTORY_EVENTS, type HistoryEvent, TASK_STATUSES, type TaskStatus } from '../../../model/task.ts';

/**
 * What a task's record holds, in order: one flat MessagePack array. Flat, because Lua reads and writes it at every
 * change. What the scripts never look into (policy, tags, error, …) is JSON text, so that no empty array and no large
 * number passes through Lua. False stands for null.
 */
export const TASK_FIELDS = [
  'version',
  'status',
  'band',
  'worker',
  'runAt',
  'due',
  'expires',
  'timeout',
  'attempt',
  'deferrals',
  'maxAttempts',
  // The rest of the policy: `[baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs]`.
  'retry',
  'key',
  'keyTtl',
  // The task that it waits for.
  'held',
  // Whether any ever waited for it.
  'holds',
  'cancel',
  'updated',
  'started',
  'finished',
  // The last error without its time.
  'error',
  'errorAt',
  'schedule',
  // The lease while it runs, afterwards the one that was settled last.
  'lease',
  'leaseUntil',
  // How far the lease may be extended.
  'leaseCap',
  // Whether the claim was one for pushing.
  'push',
  // The event that the lease was settled with.
  'settled',
  // How many history entries there have been.
  'entries',
  // Whether it is told to those that push.
  'wake',
  'type',
  'tags',
  'metadata',
  // What never changes and no script needs: `[worker's name, scheduledFor, creator's type, creator's id, createdAt]`.
  'fixed',
  'group',
  // Who is told of its end: the text of `onFinishText`.
  'onFinish',
] as const;
type TaskField = (typeof TASK_FIELDS)[number];

/** Places in a decoded record, from 0. */
export const TASK_FIELD = Object.fromEntries(TASK_FIELDS.map((name, at) => [name, at])) as Readonly<
  Record<TaskField, number>
>;

/** Records hold statuses and events by number. */
export const STATUS_NUMBER = Object.fromEntries(TASK_STATUSES.map((name, at) => [name, at])) as Readonly<
  Record<TaskStatus, number>
>;
export const EVENT_NUMBER = Object.fromEntries(HISTORY_EVENTS.map((name, at) => [name, at])) as Readonly<
  Record<HistoryEvent, number>
>;

/** What a history entry holds, in order; its number is its place. Those at the end that are false are left out. */
const ENTRY_FIELDS = [
  'at',
  'event',
  'from',
  'to',
  'attempt',
  'actor',
  'suffix',
  'http',
  'error',
  'next',
  'changed',
  'progress',
  'note',
] as const;
export const ENTRY_FIELD = Object.fromEntries(ENTRY_FIELDS.map((name, at) => [name, at])) as Readonly<
  Record<(typeof ENTRY_FIELDS)[number], number>
>;
