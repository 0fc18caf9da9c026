import {
  isUsageOver,
  MAX_USAGE_WORKERS,
  USAGE_SPANS,
  type UsageSpan,
  UsageSum,
  usageStart,
} from '../../../model/usage.ts';
import { DOCUMENT } from '../../codes.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../../usage.ts';
import { LIMIT } from '../file/statements.ts';
import type { View, Work } from '../rows/work.ts';

/** Stands for all workers of a tenant. Workers have numbers from 1. */
const ALL_WORKERS = 0;
const SPANS = Object.keys(USAGE_SPANS) as readonly UsageSpan[];

const IS_COUNTED = `SELECT 1 FROM doc INDEXED BY doc_id
  WHERE tenant = ? AND kind = ${DOCUMENT.account} AND json_extract(body, '$.deletion') IS NULL`;
const FIGURES = 'SELECT figures FROM usage WHERE tenant = ? AND span = ? AND at = ? AND worker = ?';
const COUNT = 'SELECT count(*) FROM usage WHERE tenant = ? AND span = ? AND at = ?';
const PUT = 'INSERT OR REPLACE INTO usage (tenant, span, at, worker, figures) VALUES (?, ?, ?, ?, ?)';
const OF_TENANT = `SELECT span, at, worker FROM usage WHERE tenant = ? ${LIMIT}`;
const OVER = `SELECT span, at, worker FROM usage WHERE tenant = ? AND span = ? AND at < ? ORDER BY at ${LIMIT}`;
const DELETE = 'DELETE FROM usage WHERE tenant = ? AND span = ? AND at = ? AND worker = ?';

export function addUsage(work: Work, tenantName: string, increments: readonly UsageIncrement[]): void {
  const tenant = work.findTenant(tenantName);
  if (tenant === null || work.statements.one(IS_COUNTED, tenant.number) === undefined) return;
  for (const { at, workerId, figures } of increments) {
    const worker = workerId === null ? ALL_WORKERS : work.numbers.ofWorker(tenant.number, workerId);
    if (worker === null) continue;
    for (const span of SPANS) {
      const { ms } = USAGE_SPANS[span];
      const start = usageStart(span, at);
      if (isUsageOver(span, start, work.now)) continue;
      const key = [tenant.number, ms, start, worker] as const;
      const known = work.statements.one(FIGURES, ...key)?.[0] as string | undefined;
      if (known === undefined && worker !== ALL_WORKERS && isFull(work, tenant.number, ms, start)) continue;
      const sum = new UsageSum().addAll(known === undefined ? [] : JSON.parse(known)).addAll(figures);
      work.statements.run(PUT, ...key, JSON.stringify(sum.pairs()));
    }
  }
}

/** One of the rows is that of the tenant. */
function isFull({ statements }: Work, tenant: number, ms: number, start: number): boolean {
  return (statements.one(COUNT, tenant, ms, start)?.[0] as number) > MAX_USAGE_WORKERS;
}

export function usage(
  { statements, numbers, now }: View,
  tenantName: string,
  { span, workerId, from, intervals }: UsageQuery,
): readonly UsageOfInterval[] {
  const tenant = numbers.ofTenant(tenantName);
  if (tenant === null) return [];
  const worker = workerId === null ? ALL_WORKERS : numbers.ofWorker(tenant, workerId);
  if (worker === null) return [];
  const { ms } = USAGE_SPANS[span];
  const found: UsageOfInterval[] = [];
  // The workers of an interval are next to each other, so one range would read the figures of all of them.
  for (let at = from; at < from + intervals * ms; at += ms) {
    if (isUsageOver(span, at, now)) continue;
    const row = statements.one(FIGURES, tenant, ms, at, worker);
    if (row !== undefined) found.push({ at, figures: JSON.parse(row[0] as string) });
  }
  return found;
}

/** Removes old usage. Returns whether there may be more. */
export function purgeUsage({ statements, now }: Work, tenant: number, max: number): boolean {
  let removed = 0;
  for (const span of SPANS) {
    const { ms, keepMs } = USAGE_SPANS[span];
    const over = statements.all(OVER, tenant, ms, now - keepMs - ms + 1, max - removed);
    for (const [, at, worker] of over) statements.run(DELETE, tenant, ms, at, worker);
    removed += over.length;
  }
  return removed === max;
}

/** Removes usage of any age, at most `max` rows. Returns their number. */
export function forgetUsage({ statements }: Work, tenant: number, max: number): number {
  const rows = statements.all(OF_TENANT, tenant, max);
  for (const [span, at, worker] of rows) statements.run(DELETE, tenant, span, at, worker);
  return rows.length;
}

/** Removes the rest, of a tenant whose number becomes free. */
export function dropUsage({ statements }: Work, tenant: number): void {
  statements.run('DELETE FROM usage WHERE tenant = ?', tenant);
}
