import { SECOND_MS } from '../base/clock.ts';
import { windowLengthS, windowStartS } from '../counters/window.ts';
import {
  type DecisionBatch,
  type DecisionTable,
  endOfLimits,
  firstLimit,
  KIND,
  mostHits,
} from '../decision/batch.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import type { LimitFacts } from './prepaid-limit.ts';
import type { Verdict } from './quota-bucket.ts';

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

/**
 * What planning says of the limit in a row, at the time of the batch.
 *
 * @param share the part of the limit that grants may use, up to 1
 */
export function factsOf(
  { decisions, nowS }: DecisionBatch,
  row: number,
  share: number,
  isShadow: boolean,
): LimitFacts {
  const terms = decisions.terms[row];
  const isCounted = isShadow || (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0;
  const total = terms === null ? mostHits(decisions, row) : terms.most;
  const grantable = isCounted ? Number.POSITIVE_INFINITY : Math.floor(total * share);
  if (terms !== null && terms.admission !== null) {
    const isBucket = terms.window.terms.algorithm === 'token_bucket';
    const lengthMs = isBucket ? Number.POSITIVE_INFINITY : terms.window.lengthS * SECOND_MS;
    return {
      total,
      grantable,
      fromMs: Number.NEGATIVE_INFINITY,
      toMs: Number.POSITIVE_INFINITY,
      lengthMs: lengthMs === 0 ? Number.POSITIVE_INFINITY : lengthMs,
    };
  }
  const { startS, endS } = terms === null ? unitWindow(decisions, row, nowS) : terms.window;
  const lengthMs = (endS - startS) * SECOND_MS;
  return { total, grantable, fromMs: startS * SECOND_MS, toMs: endS * SECOND_MS, lengthMs };
}

function unitWindow({ unit }: DecisionTable, row: number, nowS: number): { startS: number; endS: number } {
  const startS = windowStartS(unit[row], nowS);
  return { startS, endS: startS + windowLengthS(unit[row]) };
}
