import { passesAfterLimit } from '../../../../src/decision/limits/after-limit.ts';
import { nearThreshold } from '../../../../src/decision/statistics/outcome.ts';
import { MOST_IN_RESPONSE } from '../../../../src/messages/current-limit.ts';
import { OK, OVER_LIMIT } from '../../../exam/decisions/examinee.ts';
import { isRefusable, leaseTermsOf } from '../../../support/lease-ledger.ts';
import type { FailureMode } from '../steps/step.ts';
import type { ExpectedDescriptor, ExpectedPart, ExpectedRequest } from './expected-request.ts';

/** What the status of a descriptor must be. */
export interface ExpectedStatus {
  /** `RateLimitResponse.Code`, and whether the limit is exceeded, also in shadow mode. */
  readonly code: number;
  readonly remaining: number;
  /** Milliseconds; null if it is not compared. */
  readonly resetMs: number | null;
  readonly part: ExpectedPart | null;
}

/** Adds to a statistic of a rule. */
export type Count = (metric: string, statistic: string, hits: number) => void;

/** How a batch was decided, and when. */
export interface Decided {
  readonly nowS: number;
  readonly mode: FailureMode;
  readonly count: Count;
}

const NEAR_RATIO = 0.8;

/** The statuses of a request; null if it must be refused because a key was not counted. Counts its statistics. */
export function expectedStatuses(
  { descriptors }: ExpectedRequest,
  decided: Decided,
): readonly (readonly ExpectedStatus[])[] | null {
  const statuses: (readonly ExpectedStatus[])[] = [];
  for (const descriptor of descriptors) {
    const own: ExpectedStatus[] = [];
    for (const part of descriptor.parts) {
      const status = statusOf(descriptor, part, decided);
      if (status === null) return null;
      own.push(status);
    }
    statuses.push(own);
  }
  return statuses;
}

/** What is counted before the store is asked. */
export function countTotals({ descriptors }: ExpectedRequest, count: Count): void {
  for (const { hits, isRefund, parts, steered } of descriptors) {
    for (const { metric } of isRefund ? [] : (steered?.limits ?? [])) {
      count(metric, 'total_hits', hits);
      count(metric, steered?.kind === 'ban' ? 'over_limit' : 'within_limit', hits);
    }
    for (const { limit } of parts) {
      count(limit.metric, isRefund ? 'total_negative_hits' : 'total_hits', hits);
      if (limit.isUnlimited && !isRefund) count(limit.metric, 'within_limit', hits);
    }
  }
}

function statusOf(
  descriptor: ExpectedDescriptor,
  part: ExpectedPart,
  decided: Decided,
): ExpectedStatus | null {
  const { limit } = part;
  if (limit.isUnlimited) return { code: OK, remaining: MOST_IN_RESPONSE, resetMs: null, part: null };
  const answer = part.isUncounted ? part.countedLocally : part.counted;
  if (part.isCached) {
    decided.count(limit.metric, 'over_limit', descriptor.hits);
    decided.count(limit.metric, 'over_limit_with_local_cache', descriptor.hits);
    return over(part, descriptor.hits, decided);
  }
  if (answer === null) return uncounted(descriptor, part, decided);
  if (part.op.terms === undefined) return statusOfCount(descriptor, part, answer, decided);
  return statusOfAdmission(descriptor, part, answer, decided);
}

type Answer = NonNullable<ExpectedPart['counted']>;

/** The store has added all hits, unless they were held back. */
function statusOfCount(
  { hits, isRefund }: ExpectedDescriptor,
  part: ExpectedPart,
  { after, heldBack }: Answer,
  decided: Decided,
): ExpectedStatus {
  const { most, metric, afterLimit } = part.limit;
  if (isRefund) return within(part, most - after, decided);
  const isOver = after > most;
  if (isOver && !heldBack && afterLimit > 0 && passesAfterLimit({ hits, after }, most, afterLimit)) {
    decided.count(`${metric}.after_limit`, 'total_hits', hits);
    return within(part, 0, decided);
  }
  countHits(part, { hits, before: heldBack ? after : after - hits, after, heldBack }, decided);
  const before = heldBack ? after : after - hits;
  return isOver
    ? over(part, before >= most ? hits : after - most, decided)
    : within(part, most - after, decided);
}

/** The store has added the hits if they fit. */
function statusOfAdmission(
  { hits, isRefund }: ExpectedDescriptor,
  part: ExpectedPart,
  { after, heldBack, refused, step }: Answer,
  decided: Decided,
): ExpectedStatus {
  const { capacity, scale } = part.op.terms!;
  const left = Math.max(Math.floor((capacity - after) / scale), 0);
  const isLeased = leaseTermsOf(part.op) !== null;
  if (isRefund || (isLeased && !isRefusable(step!))) return { ...within(part, left, decided), resetMs: null };
  const { most } = part.limit;
  const used = Math.min(Math.ceil(after / scale), most);
  if (!isLeased) {
    const outcome = refused
      ? { hits, before: most, after: most + Math.max(hits, 1), heldBack }
      : { hits, before: heldBack ? used : used - hits, after: used, heldBack };
    countHits(part, outcome, decided);
  }
  if (!refused) return { ...within(part, left, decided), resetMs: null };
  const resetMs = part.limit.isShadow ? null : part.waitMs;
  return { ...over(part, isLeased ? 0 : hits, decided), remaining: left, resetMs };
}

interface Outcome {
  readonly hits: number;
  readonly before: number;
  readonly after: number;
  readonly heldBack: boolean;
}

/** A hit at a time, as the documentation says it: which are near the limit, and which beyond it. */
function countHits({ limit }: ExpectedPart, outcome: Outcome, { count }: Decided): void {
  const { most, metric } = limit;
  const { hits, before, after, heldBack } = outcome;
  const near = nearThreshold(NEAR_RATIO, most);
  const isOver = after > most;
  if (!heldBack || isOver) {
    const nearHits = Math.min(after, most) - Math.max(before, near);
    count(metric, 'near_limit', heldBack ? 0 : Math.max(nearHits, 0));
  }
  if (isOver) count(metric, 'over_limit', before >= most ? hits : after - most);
  else count(metric, 'within_limit', hits);
}

function over(part: ExpectedPart, overHits: number, { nowS, count }: Decided): ExpectedStatus {
  const { limit } = part;
  if (limit.isShadow) count(limit.metric, 'shadow_mode', overHits);
  return { code: limit.isShadow ? OK : OVER_LIMIT, remaining: 0, resetMs: resetOf(part, nowS), part };
}

function within(part: ExpectedPart, remaining: number, { nowS }: Decided): ExpectedStatus {
  const shown = Math.min(Math.max(remaining, 0), MOST_IN_RESPONSE);
  return { code: OK, remaining: shown, resetMs: resetOf(part, nowS), part };
}

/** Plain windows say when they end. */
function resetOf({ limit, op }: ExpectedPart, nowS: number): number | null {
  return op.terms === undefined ? (limit.endS - nowS) * 1_000 : null;
}

/** `STORE_FAILURE_MODE` decides. Nothing else is counted in statistics. */
function uncounted(
  { hits, isRefund }: ExpectedDescriptor,
  part: ExpectedPart,
  decided: Decided,
): ExpectedStatus | null {
  const { most, isShadow } = part.limit;
  if (decided.mode === 'error' || decided.mode === 'local') return null;
  const asked = isRefund ? 0 : hits;
  const left = decided.mode === 'allow' ? most - asked : isRefund ? 0 : -1;
  const status = within(part, left, decided);
  return left >= 0 || isShadow
    ? { ...status, resetMs: null }
    : { ...status, code: OVER_LIMIT, resetMs: null };
}
