import type { TaskStatus } from '../service/task-status.ts';

/** Answers of the tenant's API that several views use; /api/v1/openapi.json describes them. */

/** A page of a list. */
export interface ListPage<Item> {
  readonly data: readonly Item[];
  /** Null at the end of the list. */
  readonly next_cursor: string | null;
}

export const PRIORITIES = ['critical', 'high', 'normal', 'low', 'bulk'] as const;

/** Number of tasks by status. */
export interface TaskCounts {
  readonly counts: Readonly<Record<TaskStatus, number>>;
}

/** A task as lists show it. */
export interface Task {
  readonly id: string;
  readonly worker: string;
  readonly worker_id: string;
  readonly type: string | null;
  readonly status: TaskStatus;
  readonly priority: string;
  readonly run_at: string;
  readonly next_attempt_at: string | null;
  readonly waiting_for?: string | null;
  readonly waiting_since?: string | null;
  readonly expires_at: string | null;
  readonly timeout: string;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly deferrals: number;
  readonly key: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly last_error: {
    readonly code: string;
    readonly message: string;
    readonly http_status?: number;
    readonly at: string;
  } | null;
  readonly cancel_requested_at: string | null;
  readonly group: string | null;
  readonly schedule_id: string | null;
  readonly scheduled_for: string | null;
  readonly held_by: string | null;
  readonly callback_of: string | null;
  readonly created_by: Actor;
  readonly created_at: string;
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly version: number;
}

/** Who did something. */
export interface Actor {
  readonly type: string;
  readonly id: string;
}
