import type { Account } from '../../../../src/tasks/model/documents.ts';
import {
  isUsageOver,
  MAX_USAGE_WORKERS,
  USAGE_SPANS,
  type UsageSpan,
  UsageSum,
  usageStart,
} from '../../../../src/tasks/model/usage.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../../../../src/tasks/store/usage.ts';
import type { TenantState } from './state.ts';

const SPANS = Object.keys(USAGE_SPANS) as readonly UsageSpan[];
const ALL_WORKERS = '';

export function addUsage(state: TenantState, now: number, increments: readonly UsageIncrement[]): void {
  const documents = [...state.documents.values()].map(({ document }) => document);
  if (!documents.some(({ kind, body }) => kind === 'account' && (body as Account).deletion === undefined))
    return;
  for (const { at, workerId, figures } of increments) {
    for (const span of SPANS) {
      const start = usageStart(span, at);
      if (isUsageOver(span, start, now)) continue;
      const workers = state.usage.get(nameOf(span, start)) ?? new Map<string, UsageSum>();
      const known = workers.get(workerId ?? ALL_WORKERS);
      const others = [...workers.keys()].filter(id => id !== ALL_WORKERS).length;
      if (known === undefined && workerId !== null && others >= MAX_USAGE_WORKERS) continue;
      workers.set(workerId ?? ALL_WORKERS, (known ?? new UsageSum()).addAll(figures));
      state.usage.set(nameOf(span, start), workers);
    }
  }
}

export function usage(
  state: TenantState,
  now: number,
  { span, workerId, from, intervals }: UsageQuery,
): readonly UsageOfInterval[] {
  const starts = Array.from({ length: intervals }, (_, i) => from + i * USAGE_SPANS[span].ms);
  return starts.flatMap(at => {
    if (isUsageOver(span, at, now)) return [];
    const sum = state.usage.get(nameOf(span, at))?.get(workerId ?? ALL_WORKERS);
    return sum === undefined ? [] : [{ at, figures: sum.pairs() }];
  });
}

export function purgeUsage(state: TenantState, now: number): void {
  for (const name of state.usage.keys()) {
    const [span, start] = name.split(' ');
    if (isUsageOver(span as UsageSpan, Number(start), now)) state.usage.delete(name);
  }
}

function nameOf(span: UsageSpan, start: number): string {
  return `${span} ${start}`;
}
