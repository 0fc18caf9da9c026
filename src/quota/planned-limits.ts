import { SECOND_MS } from '../base/clock.ts';
import { windowLengthS, windowStartS } from '../counters/window.ts';
import { type DecisionBatch, endOfLimits, firstLimit, KIND, mostHits } from '../decision/batch.ts';
import { windowBytes } from '../decision/cache-key.ts';
import type { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { DEFAULT_QUOTA, type QuotaRule } from '../rules/rule-set.ts';
import { shareOf } from '../rules/shares.ts';
import type { LimitFacts } from './prepaid-limit.ts';
import type { QuotaBucket, Verdict } from './quota-bucket.ts';
import type { Subscriber } from './subscriber.ts';

/** What planning says of a bucket: what it answers, and the rows of the limits that count it, in the order of the rule. */
interface PlannedLimits {
  readonly verdict: Verdict;
  readonly rows: readonly number[];
  /** Whether a rule matches whose limits cannot be divided: with leases, or with a penalty. */
  readonly isUnserved: boolean;
}

/** Reads what planning has said of a bucket whose descriptor is in a row. */
export function plannedLimits({ decisions }: DecisionBatch, row: number, isShadow: boolean): PlannedLimits {
  const answer = (verdict: Verdict, isUnserved = false) => ({ verdict, rows: [], isUnserved });
  if (decisions.kind[row] === KIND.banned) return answer('deny_all');
  const rows: number[] = [];
  let refuses = false;
  for (let limit = firstLimit(decisions, row); limit < endOfLimits(decisions, row); limit++) {
    if (decisions.kind[limit] !== KIND.limited) continue;
    const terms = decisions.terms[limit];
    if (terms !== null && (terms.holders !== null || terms.hasPenalty)) return answer('allow_all', true);
    const counts = isShadow || (decisions.flags[limit] & LIMIT_FLAG.shadow) !== 0;
    if (!counts && mostHits(decisions, limit) === 0) return answer('deny_all');
    refuses ||= !counts;
    rows.push(limit);
  }
  return { verdict: refuses ? 'divided' : 'allow_all', rows, isUnserved: false };
}

/** How a bucket is looked at. */
interface Look {
  readonly generation: RuleGeneration;
  /** Whether all limits are in shadow mode. */
  readonly isShadow: boolean;
  readonly nowMs: number;
}

/** Takes over what planning has said of a bucket whose descriptor is in a row, and counts what proxies have reported. */
export function lookAt(
  bucket: QuotaBucket,
  batch: DecisionBatch,
  row: number,
  { generation, isShadow, nowMs }: Look,
): { readonly rows: readonly number[]; readonly waiting: readonly Subscriber[] } {
  const { verdict, rows, isUnserved } = plannedLimits(batch, row, isShadow);
  bucket.verdict = verdict;
  bucket.isUnserved = isUnserved;
  const quotas = rows.map(each => generation.rules.quotaOf(batch.decisions.limit[each]) ?? DEFAULT_QUOTA);
  const facts = rows.map((each, i) => factsOf(batch, each, quotas[i], isShadow));
  if (bucket.rules !== generation.number || bucket.limits.length !== rows.length)
    bucket.use(
      generation.number,
      rows.map(each => counterOf(batch, each)),
      facts,
    );
  let { forS } = quotas[0] ?? DEFAULT_QUOTA;
  for (const quota of quotas) forS = Math.min(forS, quota.forS);
  return { rows, waiting: bucket.look(facts, forS, nowMs) };
}

/** What planning says of the limit in a row, at the time of the batch. */
function factsOf(batch: DecisionBatch, row: number, { share }: QuotaRule, isShadow: boolean): LimitFacts {
  const { decisions } = batch;
  const isCounted = isShadow || (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0;
  const total = decisions.terms[row]?.most ?? decisions.requestsPerUnit[row];
  const grantable = isCounted ? Number.POSITIVE_INFINITY : shareOf(total, share);
  return { total, grantable, ...boundsOf(batch, row) };
}

/** Names the counters of the limit in a row: the same for all windows, and another one if rules count elsewhere. */
function counterOf(batch: DecisionBatch, row: number): string {
  const { keyStart, keyEnd, terms, unit } = batch.decisions;
  const bytes = batch.keys.bytes.subarray(keyStart[row], keyEnd[row] - windowBytes(batch, row));
  const window = terms[row]?.window;
  const windows =
    window === undefined
      ? [unit[row]]
      : [window.lengthS, window.terms.algorithm, Buffer.from(window.terms.tag).toString()];
  return JSON.stringify([Buffer.from(bytes).toString(), ...windows]);
}

/** The window of the limit in a row at the time of the batch, and in how many milliseconds it has room for as much again. */
export function boundsOf(
  { decisions, nowS }: DecisionBatch,
  row: number,
): Pick<LimitFacts, 'fromMs' | 'toMs' | 'lengthMs'> {
  const terms = decisions.terms[row];
  if (terms !== null && terms.admission !== null) {
    // What flows into a token bucket is not known to come: all of it may have to be paid from what it holds.
    const isBucket = terms.window.terms.algorithm === 'token_bucket' || terms.window.lengthS === 0;
    const lengthMs = isBucket ? Number.POSITIVE_INFINITY : terms.window.lengthS * SECOND_MS;
    return { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY, lengthMs };
  }
  const unit = decisions.unit[row];
  const startS = terms === null ? windowStartS(unit, nowS) : terms.window.startS;
  const endS = terms === null ? startS + windowLengthS(unit) : terms.window.endS;
  return { fromMs: startS * SECOND_MS, toMs: endS * SECOND_MS, lengthMs: (endS - startS) * SECOND_MS };
}
