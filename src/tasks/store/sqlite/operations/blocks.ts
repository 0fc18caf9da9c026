import type { Block, BlockQuery, GroupPlace } from '../../requests.ts';
import { STATUS_CODES } from '../rows/codes.ts';
import { readTenant, readWorker, type WorkerTotals } from '../rows/totals.ts';
import type { View } from '../rows/work.ts';
import { refill } from './bucket.ts';
import { tightestBound } from './claim.ts';
import { GROUP_FIRST } from './group-lines.ts';

const GROUP_RUNNING = 'SELECT running FROM task_group WHERE worker = ? AND name = ?';

/** Totals are read for this call alone, so filling their buckets changes nothing that is kept. */
export function blocks(
  view: View,
  tenantName: string,
  { workers, tenantInFlight, tenantPerSecond }: BlockQuery,
): readonly Block[] {
  const { statements, numbers, now } = view;
  const number = numbers.ofTenant(tenantName);
  if (number === null) return workers.map(() => null);
  const tenant = readTenant(statements, number);
  refill(tenant.bucket, now, { limit: tenantPerSecond, perMs: 1_000, burst: tenantPerSecond });
  return workers.map(({ workerId, concurrency, rate, inGroup }) => {
    const workerNumber = numbers.ofWorker(number, workerId);
    if (workerNumber !== null && inGroup !== null && isHeldByGroup(view, workerNumber, inGroup))
      return 'group';
    const worker = workerNumber === null ? unused() : readWorker(statements, workerNumber);
    if (rate !== null) refill(worker.bucket, now, rate);
    const { name, room } = tightestBound(now, tenant, worker, { concurrency, rate, tenantInFlight });
    return room < 1 ? name : null;
  });
}

function isHeldByGroup(
  { statements, now }: View,
  worker: number,
  { group, rules, taskId }: GroupPlace,
): boolean {
  const running = statements.one(GROUP_RUNNING, worker, group);
  if (running !== undefined && (running[0] as number) >= rules.concurrency) return true;
  if (!rules.fifo) return false;
  const first = statements.one(GROUP_FIRST, worker, group, now);
  return first !== undefined && first[2] !== taskId;
}

/** A worker that never had a task. */
function unused(): WorkerTotals {
  const bucket = { tokens: null, at: null };
  const counts = STATUS_CODES.map(() => 0);
  return { number: 0, bucket, counts, throttledUntil: null, wakeAt: null, changed: false };
}
