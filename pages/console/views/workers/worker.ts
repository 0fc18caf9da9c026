/** A worker in answers. */
export interface Worker {
  readonly id: string;
  readonly name: string;
  readonly mode: 'push' | 'pull';
  readonly url: string | null;
  readonly task_urls: boolean;
  readonly method: string;
  readonly timeout: string;
  readonly lease: string;
  readonly retry: { readonly max_attempts: number };
  readonly concurrency: number | null;
  readonly rate: { readonly limit: number; readonly per: string; readonly burst: number } | null;
  readonly group_concurrency: number | null;
  readonly group_order: 'any' | 'fifo';
  readonly priority: string;
  readonly no_retry_on: readonly number[];
  readonly paused: boolean;
  readonly pause_reason: string | null;
  readonly resume_at: string | null;
  readonly auto_pause: { readonly after: string } | null;
  readonly health?: WorkerHealth;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** Number of tasks by what they do. */
interface WorkerHealth {
  readonly in_flight: number;
  readonly waiting: number;
  readonly paused: number;
  readonly failed: number;
  /** Tasks that ended in each of the last 20 minutes. */
  readonly ended_spark: readonly number[];
}

/** A secret without its value, which cannot be read again. */
export interface Secret {
  readonly id: string;
  readonly type: 'signing' | 'header' | 'token';
  readonly name: string;
  readonly fingerprint: string;
  readonly state: 'active' | 'expiring' | 'expired';
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
}

/** Where the tasks of a worker go. */
export function targetText({ mode, url, task_urls }: Worker): string {
  if (mode === 'pull') return 'asks for its tasks';
  return task_urls ? 'each task names its URL' : (url ?? '–');
}

/** `10 at once, 5 per 1s`. */
export function boundsText({ concurrency, rate }: Worker): string {
  const parts = [
    concurrency === null ? 'any number at once' : `${concurrency} at once`,
    ...(rate === null ? [] : [`${rate.limit} per ${rate.per}`]),
  ];
  return parts.join(', ');
}
