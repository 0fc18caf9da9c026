import { MINUTE_MS, SECOND_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Account } from '../../model/documents.ts';
import { TASK_STATUSES } from '../../model/task.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { UsageSum } from '../../model/usage.ts';
import { ACCOUNT_ID } from '../../store/documents.ts';
import type { DueTasks, StatusCounts } from '../../store/requests.ts';
import { MAX_DUE, type TaskStore } from '../../store/task-store.ts';
import { ENDED_SPARK, endedIn, lastMinutes } from '../fields/last-minutes.ts';
import { TENANT_STATUSES } from '../http/tenant-ask.ts';

/** What tenants are found and sorted by. */
export interface TenantFigures {
  readonly account: Account;
  readonly counts: StatusCounts;
  readonly workers: number;
  readonly due: DueTasks;
}

const COUNT = { type: 'number', integer: true, min: 0 } as const;
const RATE = { type: 'number', min: 0 } as const;
const TIME = { type: 'string', format: 'date-time' } as const;

/** A tenant in the operator's API. */
export const TENANT: ObjectSchema = {
  type: 'object',
  name: 'Tenant',
  properties: {
    domain: { type: 'string' },
    status: { type: 'string', enum: TENANT_STATUSES },
    created_at: TIME,
    suspended: {
      type: 'object',
      nullable: true,
      description: 'Null unless the account is suspended, and if it was suspended by an earlier version.',
      properties: {
        since: TIME,
        reason: { type: 'string', nullable: true, description: 'What the operator gave as the reason.' },
      },
    },
    tasks: {
      type: 'object',
      description: 'Number of tasks by status.',
      properties: Object.fromEntries(TASK_STATUSES.map((status): [string, Schema] => [status, COUNT])),
    },
    stored: { ...COUNT, description: 'Number of tasks in all statuses.' },
    workers: COUNT,
    in_flight: { ...COUNT, description: 'Number of running attempts.' },
    due: {
      ...COUNT,
      description:
        `Number of tasks that wait although their time has come, up to ${MAX_DUE}. Includes tasks of paused workers ` +
        'and of suspended accounts.',
    },
    oldest_due_at: { ...TIME, nullable: true, description: 'When the oldest of them became due.' },
    per_second: {
      type: 'object',
      description:
        'Tasks that were created, ended and failed, per second, in the present minute and the one before. The last ten ' +
        'seconds may be missing.',
      properties: { created: RATE, ended: RATE, failed: RATE },
    },
    ended_spark: ENDED_SPARK,
  },
};

const NOTHING_DUE: DueTasks = { count: 0, oldestAt: null };

type FiguresStore = Pick<TaskStore, 'getDocument' | 'counts' | 'countDocuments' | 'dueOf'>;

/** What could be read of several tenants. */
interface ManyFigures {
  readonly figures: readonly TenantFigures[];
  /** Domains whose figures could not be read, for example because the store did not answer in time. */
  readonly unreadable: readonly string[];
  /** Why the first of them could not be read. */
  readonly failure: unknown;
}

/** Reads the figures of several tenants at the same time. Domains without an account are left out. */
export async function figuresOfMany(store: FiguresStore, domains: readonly string[]): Promise<ManyFigures> {
  const results = await Promise.allSettled(domains.map(domain => figuresOf(store, domain)));
  const failed = results.filter(result => result.status === 'rejected');
  return {
    figures: results.flatMap(result =>
      result.status === 'fulfilled' && result.value !== null ? [result.value] : [],
    ),
    unreadable: domains.filter((_, i) => results[i].status === 'rejected'),
    failure: failed[0]?.reason ?? null,
  };
}

/** Returns null if there is no account with this domain. */
export async function figuresOf(store: FiguresStore, domain: string): Promise<TenantFigures | null> {
  const counting = store.counts(domain, null);
  const [account, counts, workers, due] = await Promise.all([
    store.getDocument(domain, 'account', ACCOUNT_ID),
    counting,
    store.countDocuments(domain, 'worker'),
    // Most tenants have no waiting tasks, and looking for due ones costs more than the rest.
    counting.then(({ scheduled, retry }) => (scheduled + retry === 0 ? NOTHING_DUE : store.dueOf(domain))),
  ]);
  return account === null ? null : { account: account.body, counts, workers, due };
}

/** Number of tasks in all statuses. */
export function storedTasks(counts: StatusCounts): number {
  return TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0);
}

/** Reads the figures of a tenant over time, and returns all in the form of {@link TENANT}. */
export async function tenantView(
  store: Pick<TaskStore, 'usage'>,
  { account, counts, workers, due }: TenantFigures,
  nowMs: number,
): Promise<Record<string, unknown>> {
  const minutes = await lastMinutes(store, { tenant: account.domain, workerId: null }, nowMs);
  const { domain, status, createdAt, suspension } = account;
  return {
    domain,
    status,
    created_at: formatTime(createdAt),
    suspended:
      suspension === undefined || status !== 'suspended'
        ? null
        : { since: formatTime(suspension.at), reason: suspension.reason },
    tasks: Object.fromEntries(TASK_STATUSES.map(each => [each, counts[each]])),
    stored: storedTasks(counts),
    workers,
    in_flight: counts.running,
    due: due.count,
    oldest_due_at: formatTimeOrNull(due.oldestAt),
    per_second: ratesOf(minutes, nowMs),
    ended_spark: minutes.map(endedIn),
  };
}

function ratesOf(minutes: readonly UsageSum[], nowMs: number): Record<string, number> {
  const last = minutes.slice(-2);
  const seconds = (MINUTE_MS + (nowMs % MINUTE_MS)) / SECOND_MS;
  const rate = (count: (sum: UsageSum) => number): number =>
    Math.round((1_000 * last.reduce((total, sum) => total + count(sum), 0)) / seconds) / 1_000;
  return {
    created: rate(sum => sum.count('created')),
    ended: rate(endedIn),
    failed: rate(sum => sum.count('failed')),
  };
}
