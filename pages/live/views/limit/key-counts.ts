import { callService } from '../../../service/call.ts';
import { usePolledAnswer } from '../../../service/polled.ts';
import type { HotKey, LimitDetails } from '../../api.ts';
import type { ExplainedDescriptor, ExplainedPart, Explanation } from '../explain/explanation.ts';

/** Every request reads the counters of all keys in the store. */
const EVERY_MS = 4_000;

/** How much of a limit a key has used in the present window. */
export interface KeyCount {
  readonly count: number;
  readonly most: number;
  /** When the limit resets, in milliseconds since the epoch. */
  readonly resetMs: number;
}

/** The counts of keys by their text, those of which are not known left out. They are read, not counted. */
export function useKeyCounts(limit: LimitDetails, keys: readonly HotKey[]): ReadonlyMap<string, KeyCount> {
  const known = keys.filter(({ entries, domain }) => entries !== null && domain === limit.domain);
  const body = { domain: limit.domain, descriptors: known.map(({ entries }) => ({ entries })) };
  const asked = known.length === 0 || limit.unlimited ? null : limit.path;
  const { answer } = usePolledAnswer(asked, EVERY_MS, async signal => {
    const explanation = await callService<Explanation>('/explain', { method: 'POST', body, signal });
    return new Map(
      known.flatMap(({ key }, i) => {
        const count = countOf(limit, explanation.descriptors[i], Date.parse(explanation.time));
        return count === null ? [] : [[key, count] as const];
      }),
    );
  });
  return answer ?? new Map();
}

/** What is counted against this limit, which may be one of several of the rule, or another one by an override. */
function countOf(limit: LimitDetails, explained: ExplainedDescriptor, nowMs: number): KeyCount | null {
  const { limits } = explained;
  const counting =
    limits?.find(part => part.limit.rule === limit.path) ?? (limits === undefined ? explained : undefined);
  if (counting?.limit?.rule !== limit.path || counting.count == null) return null;
  const { burst, requestsPerUnit, scale = 1 } = counting.limit;
  const resetMs = resetOf(counting, nowMs);
  if (resetMs === null) return null;
  return { count: counting.count.now / scale, most: burst ?? requestsPerUnit, resetMs };
}

/** When more hits fit; null for a limit that does not say it. A limit on what runs at the same time waits for a lease. */
function resetOf({ window, leases }: ExplainedDescriptor | ExplainedPart, nowMs: number): number | null {
  if (window !== undefined) return nowMs + window.resetSeconds * 1_000;
  if (leases === undefined) return null;
  return leases.firstEnds === null ? nowMs : Date.parse(leases.firstEnds);
}
