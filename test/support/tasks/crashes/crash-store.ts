import { systemClock } from '../../../../src/base/clock.ts';
import { threadedSqliteStore } from '../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { KeepingLogger } from '../../keeping-logger.ts';
import { redisTaskStore } from '../redis-backend.ts';
import { sameThreadSqliteStore } from '../same-thread-store.ts';
import type { CrashPlan } from './crash-plan.ts';

/** A crash may take the hints of what was just written; they are looked for much sooner than usual. */
const SWEEP_MS = 300;

/** The store of a plan, not started. */
export function storeOfPlan(plan: CrashPlan['store']): TaskStore {
  if (plan.kind === 'redis') return redisTaskStore([plan], { keyPrefix: plan.keyPrefix, sweepMs: SWEEP_MS });
  if (plan.thread === 'same') return sameThreadSqliteStore(plan, systemClock);
  return threadedSqliteStore({ path: plan.path }, new KeepingLogger()).store;
}
