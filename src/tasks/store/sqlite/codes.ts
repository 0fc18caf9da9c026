import type { DocumentKind } from '../../model/documents.ts';
import type { HistoryEvent } from '../../model/history.ts';
import type { TaskStatus } from '../../model/task.ts';

// Numbers that stand in the file in place of words: the place in these lists. They are part of the layout: words may be
// added at the end, none may move.

export const STATUS_CODES = [
  'scheduled',
  'running',
  'retry',
  'paused',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const satisfies readonly TaskStatus[];

export const STATUS = {
  scheduled: 0,
  running: 1,
  retry: 2,
  paused: 3,
  succeeded: 4,
  failed: 5,
  canceled: 6,
  expired: 7,
} as const satisfies Record<TaskStatus, number>;

/** From this one on a status is final. */
const FIRST_FINAL = STATUS.succeeded;

export function isFinalCode(status: number): boolean {
  return status >= FIRST_FINAL;
}

/** Scheduled or retry: what can be claimed once it is due. */
export function isWaitingCode(status: number): boolean {
  return status === STATUS.scheduled || status === STATUS.retry;
}

export const EVENT_CODES = [
  'created',
  'updated',
  'paused',
  'resumed',
  'started',
  'heartbeat_progress',
  'succeeded',
  'attempt_failed',
  'timed_out',
  'lease_expired',
  'deferred',
  'released',
  'cancel_requested',
  'canceled',
  'expired',
  'replayed',
  'no_retry',
  'gap',
] as const satisfies readonly HistoryEvent[];

export const EVENT = Object.fromEntries(EVENT_CODES.map((event, code) => [event, code])) as Record<
  HistoryEvent,
  number
>;

export const DOCUMENT_CODES = [
  'account',
  'user',
  'token',
  'worker',
  'secret',
  'schedule',
] as const satisfies readonly DocumentKind[];

export const DOCUMENT = Object.fromEntries(DOCUMENT_CODES.map((kind, code) => [kind, code])) as Record<
  DocumentKind,
  number
>;
