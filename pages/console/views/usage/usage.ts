import { formatCount, formatDuration, formatMs } from '../../../design/format.ts';

/** How far back the figures reach. */
export const RANGES = { '1h': 'Last hour', '24h': '24 hours', '7d': '7 days' } as const;
export type Range = keyof typeof RANGES;

/** The answer of `GET /usage`. */
export interface Usage {
  readonly to: string;
  readonly interval_seconds: number;
  readonly worker: { readonly id: string; readonly name: string | null } | null;
  /** Oldest first. The last interval has not ended. */
  readonly series: readonly UsageInterval[];
  readonly totals: UsageFigures;
  readonly limits: Readonly<Record<string, UsedLimit | null>>;
}

export interface UsageInterval extends UsageFigures {
  readonly at: string;
}

/** Counts, and times in milliseconds, which are null if nothing was measured. */
export interface UsageFigures {
  readonly tasks_created: number;
  readonly attempts_started: number;
  readonly attempts_failed: number;
  readonly tasks_succeeded: number;
  readonly tasks_failed: number;
  readonly tasks_canceled: number;
  readonly tasks_expired: number;
  readonly duration_p50_ms: number | null;
  readonly duration_p95_ms: number | null;
  readonly start_lag_p50_ms: number | null;
  readonly start_lag_p95_ms: number | null;
}

/** A limit of the account, and how much of it is used now. */
export interface UsedLimit {
  readonly limit: number;
  readonly used: number;
  /** Of limits of calls: the window in which they are counted. */
  readonly window_seconds?: number | null;
}

/** The range of an address; the last hour unless it names another one. */
export function rangeOf(text: string | undefined): Range {
  return text !== undefined && Object.hasOwn(RANGES, text) ? (text as Range) : '1h';
}

/** The path of the usage of the account, or of a worker by name or id. */
export function usagePath(range: Range, worker: string): string {
  return `/usage?range=${range}${worker === '' ? '' : `&worker=${encodeURIComponent(worker)}`}`;
}

/** Whether nothing has happened. */
export function isIdle({ totals }: Usage): boolean {
  return Object.values(totals).every(figure => figure === 0 || figure === null);
}

/** A time in the unit in which it is easy to read: `12 ms`, `1.4 s`, `25m`. */
export function timeText(ms: number): string {
  if (ms < 1_000) return formatMs(ms);
  return ms < 600_000 ? `${formatCount(ms / 1_000)}\u2009s` : formatDuration(ms);
}

export function timeOrDash(ms: number | null): string {
  return ms === null ? '–' : timeText(ms);
}
