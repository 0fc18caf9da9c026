import type { BlockQuery, WorkerBlock } from '../requests.ts';
import { refill } from './bucket.ts';
import { tightestBound } from './claim.ts';
import { STATUS_CODES } from './codes.ts';
import { readTenant, readWorker, type WorkerTotals } from './totals.ts';
import type { View } from './work.ts';

/** Totals are read for this call alone, so filling their buckets changes nothing that is kept. */
export function blocks(
  { statements, numbers, now }: View,
  tenantName: string,
  { workers, tenantInFlight, tenantPerSecond }: BlockQuery,
): readonly WorkerBlock[] {
  const number = numbers.ofTenant(tenantName);
  if (number === null) return workers.map(() => null);
  const tenant = readTenant(statements, number);
  refill(tenant.bucket, now, { limit: tenantPerSecond, perMs: 1_000, burst: tenantPerSecond });
  return workers.map(({ workerId, concurrency, rate }) => {
    const workerNumber = numbers.ofWorker(number, workerId);
    const worker = workerNumber === null ? unused() : readWorker(statements, workerNumber);
    if (rate !== null) refill(worker.bucket, now, rate);
    const { name, room } = tightestBound(now, tenant, worker, { concurrency, rate, tenantInFlight });
    return room < 1 ? name : null;
  });
}

/** A worker that never had a task. */
function unused(): WorkerTotals {
  const bucket = { tokens: null, at: null };
  const counts = STATUS_CODES.map(() => 0);
  return { number: 0, bucket, counts, throttledUntil: null, wakeAt: null, changed: false };
}
