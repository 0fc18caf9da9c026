import { SECOND_MS } from '../../../base/clock.ts';
import { formatTime } from '../../model/time.ts';
import { USAGE_SPANS, type UsageSpan, UsageSum, usageStart } from '../../model/usage.ts';
import { invalidParameter } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { findWorkerId } from '../tasks/task-filter.ts';
import { figuresView, USAGE_ANSWER } from './usage-view.ts';
import { usedLimits } from './used-limits.ts';

/** What callers can ask for. The last interval has not ended. */
const RANGES: Readonly<Record<string, { readonly span: UsageSpan; readonly intervals: number }>> = {
  '1h': { span: 'minute', intervals: 60 },
  '24h': { span: 'hour', intervals: 24 },
  '7d': { span: 'hour', intervals: 168 },
};
const DEFAULT_RANGE = '1h';

/** `GET /v1/usage` */
export function usageRoutes(parts: RestParts): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/usage',
      operation: 'getUsage',
      summary: 'Read the usage over time, and the limits of the account with how much of them is used',
      access: { role: 'viewer', scope: 'tasks:read' },
      query: {
        range: '`1h` in minutes, `24h` or `7d` in hours. The default is `1h`.',
        worker: 'Name or id of a worker: only the figures of its tasks.',
      },
      answers: {
        200: {
          description:
            'The usage. It is written every few seconds and may lack what was counted in the last seconds before a crash.',
          schema: USAGE_ANSWER,
        },
      },
      problems: ['validation_failed'],
      handle: call => readUsage(parts, call),
    },
  ];
}

/** @throws Problem `invalid_parameter` or `validation_failed` */
async function readUsage(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { span, intervals } = readRange(call.query['range'] ?? '');
  const workerText = call.query['worker'] ?? '';
  const workerId = workerText === '' ? null : await findWorkerId(parts, call.tenant, workerText);
  const { ms } = USAGE_SPANS[span];
  const from = usageStart(span, call.nowMs) - (intervals - 1) * ms;
  const [found, limits, worker] = await Promise.all([
    parts.store.usage(call.tenant, { span, workerId, from, intervals }),
    usedLimits(parts, call),
    workerId === null ? null : parts.directory.worker(call.tenant, workerId),
  ]);
  const figuresAt = new Map(found.map(({ at, figures }) => [at, figures]));
  const totals = new UsageSum();
  const series = Array.from({ length: intervals }, (_, i) => {
    const at = from + i * ms;
    const figures = figuresAt.get(at) ?? [];
    totals.addAll(figures);
    return { at: formatTime(at), ...figuresView(new UsageSum().addAll(figures)) };
  });
  return {
    status: 200,
    json: {
      from: formatTime(from),
      to: formatTime(call.nowMs),
      interval_seconds: ms / SECOND_MS,
      worker: workerId === null ? null : { id: workerId, name: worker?.body.name ?? null },
      series,
      totals: figuresView(totals),
      limits,
    },
  };
}

function readRange(text: string): (typeof RANGES)[string] {
  const name = text === '' ? DEFAULT_RANGE : text;
  if (Object.hasOwn(RANGES, name)) return RANGES[name];
  throw invalidParameter('range', `range must be ${Object.keys(RANGES).join(', ')}, or left out`);
}
