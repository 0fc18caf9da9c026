import { MINUTE_MS, SECOND_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { UsageSum, usageStart } from '../../model/usage.ts';
import { limitsOf, useOf } from '../access/tenant-limits.ts';
import type { ApiLimitVerdict, CallKind, RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

function usedLimit(description: string, more: Partial<ObjectSchema> = {}): ObjectSchema {
  return {
    type: 'object',
    description,
    ...more,
    properties: {
      limit: { type: 'number', min: 0, description: 'The limit of the account.' },
      used: { type: 'number', min: 0, description: 'How much of it is used now.' },
      ...more.properties,
    },
  };
}

function callLimit(kind: string): ObjectSchema {
  return usedLimit(
    `Calls of the API that ${kind}: the limit with the smallest remaining share. Null if no rule limits them, or if the ` +
      'decision engine did not answer.',
    {
      nullable: true,
      properties: {
        window_seconds: {
          type: 'number',
          integer: true,
          min: 0,
          nullable: true,
          description: 'Length of the window in which calls are counted; null if the rule has another form.',
        },
      },
    },
  );
}

/** The limits of an account, and how much of them is used. */
export const USED_LIMITS: ObjectSchema = {
  type: 'object',
  name: 'UsedLimits',
  description: 'The limits of the account and how much of each is used now, also if `worker` is given.',
  properties: {
    in_flight: usedLimit('Concurrent attempts.'),
    dispatch_per_second: usedLimit(
      'Attempts that start per second. What is used is the average of the last whole minute.',
    ),
    open_tasks: usedLimit('Open (not yet finished) tasks.'),
    workers: usedLimit('Workers.'),
    schedules: usedLimit('Schedules.'),
    users: usedLimit('Users.'),
    read_calls: callLimit('read'),
    write_calls: callLimit('write'),
  },
};

/** The limits in the form of {@link USED_LIMITS}. Counts no calls. */
export async function usedLimits(parts: RestParts, call: Call): Promise<Record<string, object | null>> {
  const limits = limitsOf(parts, call);
  const [use, perSecond, readCalls, writeCalls] = await Promise.all([
    useOf(parts.store, call.tenant),
    startsPerSecond(parts, call),
    usedCalls(parts, call, 'read'),
    usedCalls(parts, call, 'write'),
  ]);
  return {
    in_flight: { limit: limits.inFlight, used: use['in_flight'] },
    dispatch_per_second: { limit: limits.dispatchPerSecond, used: perSecond },
    open_tasks: { limit: limits.openTasks, used: use['open_tasks'] },
    workers: { limit: limits.workers, used: use['workers'] },
    schedules: { limit: limits.schedules, used: use['schedules'] },
    users: { limit: limits.users, used: use['users'] },
    read_calls: readCalls,
    write_calls: writeCalls,
  };
}

async function startsPerSecond({ store }: RestParts, { tenant, nowMs }: Call): Promise<number> {
  const from = usageStart('minute', nowMs) - MINUTE_MS;
  const found = await store.usage(tenant, { span: 'minute', workerId: null, from, intervals: 1 });
  const sum = new UsageSum();
  for (const { figures } of found) sum.addAll(figures);
  return Math.round((100 * sum.count('started')) / (MINUTE_MS / SECOND_MS)) / 100;
}

/** Asks without counting a call. */
async function usedCalls(
  { apiLimits }: RestParts,
  { tenant, caller, headers }: Call,
  kind: CallKind,
): Promise<object | null> {
  const user = caller.kind === 'user' ? caller.userId : caller.workerId;
  let verdict: ApiLimitVerdict;
  try {
    verdict = await apiLimits.ask({ tenant, kind, user, onlyAsks: true }, headers.authorization ?? '');
  } catch {
    // As for the calls themselves, a failure of the decision engine does not matter.
    return null;
  }
  const { nearest } = verdict;
  if (nearest === null) return null;
  const { limit, remaining, windowSeconds } = nearest;
  return { limit, used: Math.max(0, limit - remaining), window_seconds: windowSeconds };
}
