import type { Row, Statements } from '../file/statements.ts';
import { STATUS } from './codes.ts';

const COUNT_COLUMNS = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'];
const COUNTS = COUNT_COLUMNS.join(', ');
const SET_COUNTS = COUNT_COLUMNS.map(column => `${column} = ?`).join(', ');

/** A bucket of starts; `tokens` is null until it is used first. */
export interface Bucket {
  tokens: number | null;
  at: number | null;
}

/** The row of a tenant, while a group of operations changes it. */
export interface TenantTotals {
  readonly number: number;
  readonly bucket: Bucket;
  /** How many tasks there are, by the number of their status. */
  readonly counts: number[];
  changed: boolean;
}

/** The same of a worker. */
export interface WorkerTotals extends TenantTotals {
  throttledUntil: number | null;
  wakeAt: number | null;
}

export function readTenant(statements: Statements, number: number): TenantTotals {
  const sql = `SELECT tokens, bucket_at, ${COUNTS} FROM tenant WHERE no = ?`;
  const row = statements.one(sql, number) as Row;
  const bucket = { tokens: row[0] as number | null, at: row[1] as number | null };
  return { number, bucket, counts: row.slice(2) as number[], changed: false };
}

export function readWorker(statements: Statements, number: number): WorkerTotals {
  const sql = `SELECT tokens, bucket_at, throttled_until, wake_at, ${COUNTS} FROM worker WHERE no = ?`;
  const row = statements.one(sql, number) as Row;
  return {
    number,
    bucket: { tokens: row[0] as number | null, at: row[1] as number | null },
    throttledUntil: row[2] as number | null,
    wakeAt: row[3] as number | null,
    counts: row.slice(4) as number[],
    changed: false,
  };
}

export function writeTenant(statements: Statements, { number, bucket, counts }: TenantTotals): void {
  const sql = `UPDATE tenant SET tokens = ?, bucket_at = ?, ${SET_COUNTS} WHERE no = ?`;
  statements.run(sql, bucket.tokens, bucket.at, ...counts, number);
}

export function writeWorker(statements: Statements, totals: WorkerTotals): void {
  const sql = `UPDATE worker SET tokens = ?, bucket_at = ?, throttled_until = ?, wake_at = ?, ${SET_COUNTS} WHERE no = ?`;
  const { number, bucket, throttledUntil, wakeAt, counts } = totals;
  statements.run(sql, bucket.tokens, bucket.at, throttledUntil, wakeAt, ...counts, number);
}

/** How many tasks are not final. */
export function openTasks({ counts }: TenantTotals): number {
  return counts[STATUS.scheduled] + counts[STATUS.running] + counts[STATUS.retry] + counts[STATUS.paused];
}
