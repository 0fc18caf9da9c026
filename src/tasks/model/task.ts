import type { TaskContent } from './task-content.ts';

/** Every status; the last four are final. `TaskStore` in `../store/task-store.ts` describes the transitions. */
export const TASK_STATUSES = [
  'scheduled',
  'running',
  'retry',
  'paused',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Statuses that a task leaves only when it is replayed. */
export const FINAL_STATUSES = ['succeeded', 'failed', 'canceled', 'expired'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

export function isFinal(status: TaskStatus): status is FinalStatus {
  return (FINAL_STATUSES as readonly string[]).includes(status);
}

/** Why the last attempt did not succeed. */
export interface TaskError {
  /** A word for programs: `http_5xx`, `timeout`, `lease_expired`, or what a pull worker says. At most 64 characters. */
  readonly code: string;
  /** At most 1000 characters. */
  readonly message: string;
  readonly httpStatus?: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Another worker gets a task when a task has ended (a callback). */
export interface OnFinish {
  /** Id of that worker. */
  readonly workerId: string;
  /** With which of these statuses: at least one, each once. */
  readonly events: readonly FinalStatus[];
}

/** The actor of a change. */
export interface Actor {
  /** `task`: a callback was created because that task ended. */
  readonly type: 'user' | 'token' | 'schedule' | 'task' | 'dispatcher' | 'worker' | 'system';
  readonly id: string;
}

/**
 * A task as stores keep it, without its large parts ({@link TaskBody}). Times are milliseconds since the epoch, or
 * null. The worker's defaults are copied when the task is created, so later changes of the defaults apply only to later
 * tasks.
 */
export interface Task extends TaskContent {
  /** `tsk_` and a ULID. Its time is {@link createdAt}, so ids sort as tasks were made. */
  readonly id: string;
  /** Id of the worker, `wrk_…`. */
  readonly workerId: string;
  /** Name of the worker, which never changes while it has tasks. */
  readonly worker: string;
  readonly status: TaskStatus;
  /** Not to start before. */
  readonly runAt: number;
  /**
   * When it is due; null while it runs, when its status is final, and while it is held ({@link heldBy}). A paused task
   * keeps it.
   */
  readonly dueAt: number | null;
  /** Not started by then: it expires. */
  readonly expiresAt: number | null;
  /** Attempts that were started and counted. */
  readonly attempt: number;
  /** Attempts that ended without being counted (deferred or released). */
  readonly deferrals: number;
  readonly key: string | null;
  /** How long the key stays taken after the end, in milliseconds. */
  readonly keyTtlMs: number;
  readonly lastError: TaskError | null;
  readonly cancelRequestedAt: number | null;
  /** Tasks of a worker with the same group are limited, or ordered, together (`ClaimRequest.groups`). 1 to 128 characters. */
  readonly group: string | null;
  readonly scheduleId: string | null;
  /** The nominal time of the schedule. */
  readonly scheduledFor: number | null;
  /** Another task that must have reached a final status first; null without one, and when that task is final. */
  readonly heldBy: string | null;
  /** Null for no callback, and in callbacks themselves. */
  readonly onFinish: OnFinish | null;
  readonly createdBy: Actor;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Start of the first attempt. */
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Grows by one with each change, from 1. */
  readonly version: number;
}

/** The id of the task whose end a callback tells of; null for all other tasks. */
export function callbackOf({ createdBy }: Pick<Task, 'createdBy'>): string | null {
  return createdBy.type === 'task' ? createdBy.id : null;
}

/** The large part of a task. Lists and status changes leave it alone. */
export interface TaskBody {
  /** JSON text, as it is sent, or bytes ({@link bytesPayload}); null when the task has no payload. */
  readonly payload: string | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null until the task has succeeded with one. */
  readonly result: string | null;
}

/** Approximate size of a body in a store and in an answer, in bytes. Its headers are small. */
export function bodyBytes({ payload, result }: Pick<TaskBody, 'payload' | 'result'>): number {
  return Buffer.byteLength(payload ?? '') + Buffer.byteLength(result ?? '');
}

/** Events in the history of a task (specification 3.4). */
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
  /** `dueAt` of the task afterward, if it has one. Paused tasks can have one too. */
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

/**
 * A payload is one text: JSON, or bytes as a `data:` URL (RFC 2397) that also has their content type. JSON never begins
 * like that, so everything that stores and carries payloads handles both in the same way.
 */
const BYTES_SCHEME = 'data:';
const BYTES_ENCODING = ';base64,';

/** Maximum number of characters of a content type. */
export const MAX_CONTENT_TYPE_LENGTH = 128;

/** A payload that is not JSON. */
export interface BytesPayload {
  readonly contentType: string;
  /** With padding, in the alphabet of RFC 4648, section 4. */
  readonly base64: string;
}

/** The payload as one text. */
export function bytesPayload({ contentType, base64 }: BytesPayload): string {
  return BYTES_SCHEME + contentType + BYTES_ENCODING + base64;
}

/** The bytes of a payload; null for a JSON payload and for a task without a payload. */
export function bytesOf(payload: string | null): BytesPayload | null {
  if (payload === null || !payload.startsWith(BYTES_SCHEME)) return null;
  // A parameter of the content type may contain the same text, but base64 has no semicolon.
  const end = payload.lastIndexOf(BYTES_ENCODING, BYTES_SCHEME.length + MAX_CONTENT_TYPE_LENGTH);
  return {
    contentType: payload.slice(BYTES_SCHEME.length, end),
    base64: payload.slice(end + BYTES_ENCODING.length),
  };
}
