import type { Actor, TaskStatus } from './task.ts';

/** What can happen to a task (specification 3.4). */
export const HISTORY_EVENTS = [
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
] as const;
export type HistoryEvent = (typeof HISTORY_EVENTS)[number];

/** The answer of a push worker, as history keeps it. */
export interface HistoryHttp {
  readonly status: number;
  readonly durationMs: number;
  /** At most 4 KiB of the reply. */
  readonly response: string;
  readonly truncated: boolean;
}

/** One entry. Fields that do not apply are left out. Request bodies and secrets are never part of it. */
export interface HistoryEntry {
  /** From 1, without holes; only a `gap` stands for several. */
  readonly seq: number;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly at: number;
  readonly event: HistoryEvent;
  /** Null for `created`. */
  readonly from: TaskStatus | null;
  readonly to: TaskStatus;
  /** Attempts counted so far; in `started` and what closes it, the number of that attempt. */
  readonly attempt: number;
  readonly actor: Actor;
  /** The last four characters of the lease, in `started` and in what closes it. */
  readonly leaseIdSuffix?: string;
  readonly http?: HistoryHttp;
  readonly error?: { readonly code: string; readonly message: string };
  /** Where the task has a `dueAt` afterwards, also a paused one: that time. */
  readonly nextAttemptAt?: number;
  /** `updated`: names of the fields that changed. */
  readonly changed?: readonly string[];
  /** `heartbeat_progress`: 0 to 100, and what the worker says. */
  readonly progress?: number;
  readonly note?: string;
  /** `gap`: how many entries are gone. */
  readonly dropped?: number;
}

/** The first entries of a task, and the last ones, are kept; what is between them goes. */
export const HISTORY_FIRST_KEPT = 50;
export const HISTORY_LAST_KEPT = 950;
