import type { DocumentKind } from '../model/documents.ts';
import type { HistoryEvent, TaskStatus } from '../model/task.ts';

// Numbers that are stored instead of words. They are part of the layouts of SQLite and PostgreSQL: words may be added at
// the end, but existing numbers must not change. The list after each table converts numbers to words.

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
export const STATUS_CODES = Object.keys(STATUS) as readonly TaskStatus[];

/** This status and all later ones are final. */
const FIRST_FINAL = STATUS.succeeded;

export function isFinalCode(status: number): boolean {
  return status >= FIRST_FINAL;
}

/** Whether the status is `scheduled` or `retry`: these tasks can be claimed when they are due. */
export function isWaitingCode(status: number): boolean {
  return status === STATUS.scheduled || status === STATUS.retry;
}

export const EVENT = {
  created: 0,
  updated: 1,
  paused: 2,
  resumed: 3,
  started: 4,
  heartbeat_progress: 5,
  succeeded: 6,
  attempt_failed: 7,
  timed_out: 8,
  lease_expired: 9,
  deferred: 10,
  released: 11,
  cancel_requested: 12,
  canceled: 13,
  expired: 14,
  replayed: 15,
  no_retry: 16,
  gap: 17,
} as const satisfies Record<HistoryEvent, number>;
export const EVENT_CODES = Object.keys(EVENT) as readonly HistoryEvent[];

export const DOCUMENT = {
  account: 0,
  user: 1,
  token: 2,
  worker: 3,
  secret: 4,
  schedule: 5,
  removal: 6,
  audit: 7,
  callback: 8,
  master_keys: 9,
} as const satisfies Record<DocumentKind, number>;
export const DOCUMENT_CODES = Object.keys(DOCUMENT) as readonly DocumentKind[];
