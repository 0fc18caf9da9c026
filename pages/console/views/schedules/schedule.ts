/** A schedule in answers. */
export interface Schedule {
  readonly id: string;
  readonly name: string;
  readonly worker: string;
  readonly worker_id: string;
  readonly task: {
    readonly type: string | null;
    readonly tags: readonly string[];
    readonly group: string | null;
  };
  readonly cron: string | null;
  readonly every: string | null;
  readonly timezone: string;
  readonly overlap: string;
  readonly catch_up: { readonly mode: string; readonly window: string };
  readonly jitter: string;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly runs_left: number | null;
  readonly paused: boolean;
  readonly pause_reason: string | null;
  readonly resume_at: string | null;
  readonly next_runs: readonly string[];
  readonly last_run: {
    readonly scheduled_for: string;
    readonly task_id: string;
    readonly status?: string | null;
  } | null;
  readonly fired: number;
  readonly skipped_overlap: number;
  readonly skipped_window: number;
  readonly created_at: string;
  readonly version: number;
}

/** When it runs: `30 2 * * * in Europe/Berlin`, `every 15m`. */
export function timingText({ cron, every, timezone }: Pick<Schedule, 'cron' | 'every' | 'timezone'>): string {
  return cron === null ? `every ${every}` : `${cron} in ${timezone}`;
}

/** A time in a time zone, with the name of the zone: `Mon, Nov 30, 03:00 Europe/Berlin`. */
export function timeIn(iso: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return `${format.format(new Date(iso))} ${timeZone}`;
}

/** The time zone of the viewer. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
