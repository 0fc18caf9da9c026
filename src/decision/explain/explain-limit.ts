import { SECOND_MS } from '../../base/clock.ts';
import { REFUSED } from '../../counters/admission/admission.ts';
import type { Penalty } from '../../counters/admission/penalty.ts';
import { windowLengthS, windowStartS } from '../../counters/window.ts';
import { UNIT_NAMES } from '../../messages/current-limit.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from '../../rules/layout.ts';
import type { Algorithm, ClassRule, LeaseMode, LeaseRule, PenaltyRule } from '../../rules/rule-set.ts';
import { shareText } from '../../rules/shares.ts';
import { RULE_PREFIX, sanitiseStatName } from '../../stats/names.ts';
import { type DecisionBatch, mostHits } from '../batch.ts';
import type { CountingTerms } from '../limits/counting-terms.ts';
import type { LimitClasses } from '../limits/limit-classes.ts';
import { nameOfLimit } from '../metric-key.ts';
import { type ExplainedLeases, explainedLeases, type PresentLeases } from './explain-leases.ts';

export interface ExplainedLimit {
  /** Domain and entries as configured; null for a limit override. */
  readonly rule: string | null;
  /** The overlay entry that changes the rule, as `file:line`; absent if none does. */
  readonly overlay?: string;
  /** Empty for none. */
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  /**
   * Absent, with `algorithm`, for a limit that is one unit as a fixed window. As in the rules: `5m`, `month@15`; `concurrency`
   * for a limit on concurrency.
   */
  readonly window?: string;
  readonly algorithm?: Algorithm;
  /** The size of a token bucket. */
  readonly burst?: number;
  /** Absent if keys that keep exceeding the limit are not penalized. */
  readonly penalty?: Readonly<Record<'after' | 'forSeconds' | 'factor' | 'maxSeconds', number>>;
  /** Absent if all requests may use the whole limit. Shares are percentages: `85%`. */
  readonly classes?: {
    /** The key of the entry whose value is the class. */
    readonly key: string;
    readonly shares: Readonly<Record<string, string>>;
    /** The share for other values. */
    readonly others: string;
  };
  /** The share of the hits beyond the limit that pass, `10%`; absent if all are rejected. */
  readonly afterLimit?: string;
  /** How many hits one of the requests is worth; absent for 1. */
  readonly scale?: number;
  /** Absent if hits are counted, and not held for a holder. */
  readonly lease?: ExplainedLease;
  /** What proxies get of the limit, the share as a percentage; absent for the usual part. See `QuotaRule` of `rule-set.ts`. */
  readonly quota?: { readonly share: string; readonly forSeconds: number };
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** Prefix of the names of its statistics. */
  readonly statistics: string;
}

/** How the leases of a limit work; see `LeaseRule` of `rule-set.ts`. */
interface ExplainedLease {
  readonly mode: LeaseMode;
  readonly forSeconds: number;
  /** The key of the entry that names the holder; empty if leases have no holders. */
  readonly holder: string;
  /** The hits that a call without hits holds; absent if it holds none. */
  readonly estimate?: number;
  readonly zeroHits: LeaseRule['zeroHits'];
  readonly overdraft: LeaseRule['overdraft'];
}

/** What is known of a key of a limit with a penalty, before the request. */
interface ExplainedPenalty {
  /** Violations since the last penalty, and the number of them that leads to the next one. */
  readonly violations: number;
  readonly after: number;
  /** Penalties so far. */
  readonly penalties: number;
  /** In RFC 3339, UTC; null if the key is not penalized. */
  readonly penalizedUntil: string | null;
}

/** The class of a request for a limit with classes. */
interface ExplainedClass {
  /** Null if the request has none of the classes of the limit. */
  readonly name: string | null;
  /** The part of the limit that it may use, as a percentage and in hits. */
  readonly share: string;
  readonly most: number;
}

/** Where a request ends that is beyond a limit after which a share of the hits passes. */
interface ExplainedBeyond {
  /** The hits beyond the limit so far, with those of the request. */
  readonly hits: number;
  readonly passes: boolean;
}

interface ExplainedWindow {
  readonly start: string;
  readonly end: string;
  readonly resetSeconds: number;
}

export interface ExplainedCount {
  /** Number of hits in the window so far, or whole hits that a token bucket lacks. */
  readonly now: number;
  /** The same after this request. */
  readonly after: number;
  /** The hits would not be added, because another descriptor of the request is over its limit. */
  readonly heldBack: boolean;
  /** The hits would not be added, because they do not fit. Absent if the algorithm counts refused hits as well. */
  readonly refused?: boolean;
}

/** How a limit counts a request. */
export interface ExplainedCounting {
  readonly key: string;
  /** The current window; absent for a token bucket and a limit on concurrency, which have none. */
  readonly window?: ExplainedWindow;
  /** What a limit that is no plain count holds now, as a sentence. */
  readonly level?: string;
  /** Absent for a limit without classes. */
  readonly class?: ExplainedClass;
  /** Absent for a limit without a penalty, and if the store could not read it. */
  readonly penalty?: ExplainedPenalty;
  /** Absent for a limit without leases, and if the store could not read it. */
  readonly leases?: ExplainedLeases;
  /** Absent if no share of the hits passes after the limit, or if the request does not get beyond it. */
  readonly beyondLimit?: ExplainedBeyond;
  /** Null if the store could not read the count. */
  readonly count: ExplainedCount | null;
}

/** A decided batch with one request, whose statistics are known by the limit. */
export interface DecidedBatch {
  readonly batch: DecisionBatch;
  /** By slot: the count or the level before the request. */
  readonly present: Float64Array;
  /** The same of the penalties; those of slots without a penalty are empty. */
  readonly penalties: readonly Penalty[];
  readonly leases: PresentLeases;
}

/** A limit of the rules. */
export function limitOfRule(
  rules: CompiledRules,
  { limit, metricKey }: { readonly limit: number; readonly metricKey: string },
): ExplainedLimit {
  const flags = rules.flags(limit);
  const number = rules.limit(limit, LIMIT.terms) - 1;
  const overlay = rules.overlaidBy(limit);
  const quota = rules.quotaOf(limit);
  return {
    rule: rules.path(limit),
    ...(overlay !== null && { overlay: `${overlay.file}:${overlay.line}` }),
    name: nameOfLimit(rules, limit),
    requestsPerUnit: rules.requestsPerUnit(limit),
    unit: UNIT_NAMES[rules.limit(limit, LIMIT.unit)],
    ...(number < 0 ? {} : explainedTerms(rules, number)),
    ...(quota !== null && { quota: { share: shareText(quota.share), forSeconds: quota.forS } }),
    shadowMode: (flags & LIMIT_FLAG.shadow) !== 0,
    quotaMode: (flags & LIMIT_FLAG.quota) !== 0,
    statistics: RULE_PREFIX + sanitiseStatName(metricKey),
  };
}

/** The limit that the descriptor in a row brings. */
export function ownLimit({ decisions }: DecisionBatch, row: number, metricKey: string): ExplainedLimit {
  return {
    rule: null,
    name: '',
    requestsPerUnit: decisions.requestsPerUnit[row],
    unit: UNIT_NAMES[decisions.unit[row]],
    shadowMode: false,
    quotaMode: false,
    statistics: RULE_PREFIX + sanitiseStatName(metricKey),
  };
}

/** How the limit in a row counts the request. */
export function countingOf(decided: DecidedBatch, row: number): ExplainedCounting {
  const { keys, decisions } = decided.batch;
  const key = Buffer.from(keys.bytes.subarray(decisions.keyStart[row], decisions.keyEnd[row])).toString();
  const terms = decisions.terms[row];
  const count = countOf(decided, row);
  if (terms === null || terms.admission === null) {
    const beyondLimit = beyondOf(decided.batch, row, count);
    return { key, window: windowOf(decided.batch, row), ...(beyondLimit !== null && { beyondLimit }), count };
  }
  const level = levelText(decided, row, terms);
  const penalty = penaltyOf(decided, row);
  const leases = explainedLeases(decided.batch, row, decided);
  return {
    key,
    ...(hasWindow(terms) && { window: windowOf(decided.batch, row) }),
    level,
    ...(terms.classes !== null && { class: explainedClass(terms, terms.classes) }),
    ...(penalty !== null && { penalty }),
    ...(leases !== null && { leases }),
    count,
  };
}

function explainedTerms(
  rules: CompiledRules,
  number: number,
): Pick<
  ExplainedLimit,
  'window' | 'algorithm' | 'burst' | 'penalty' | 'classes' | 'afterLimit' | 'scale' | 'lease'
> {
  const { window, algorithm, burst, penalty, classes, afterLimit, scale, lease } = rules.terms(number);
  return {
    window,
    algorithm,
    ...(algorithm === 'token_bucket' ? { burst } : {}),
    ...(penalty === null ? {} : { penalty: explainedPenalty(penalty) }),
    ...(classes === null ? {} : { classes: explainedClasses(classes) }),
    ...(afterLimit === 0 ? {} : { afterLimit: shareText(afterLimit) }),
    ...(scale === 1 ? {} : { scale }),
    ...(lease === null ? {} : { lease: explainedLease(lease) }),
  };
}

function explainedClasses({
  key,
  names,
  shares,
  otherShare,
}: ClassRule): NonNullable<ExplainedLimit['classes']> {
  const each = names.map((name, i) => [name, shareText(shares[i])]);
  return { key, shares: Object.fromEntries(each), others: shareText(otherShare) };
}

function explainedClass({ classNumber, most }: CountingTerms, classes: LimitClasses): ExplainedClass {
  return { name: classes.name(classNumber), share: shareText(classes.share(classNumber)), most };
}

function explainedPenalty({
  after,
  forS,
  factor,
  maxS,
}: PenaltyRule): NonNullable<ExplainedLimit['penalty']> {
  return { after, forSeconds: forS, factor, maxSeconds: maxS };
}

/** Whether hits count in windows. */
function hasWindow({ admission, holders }: CountingTerms): boolean {
  return admission?.windowS !== 0 && holders?.rule.mode !== 'concurrency';
}

function explainedLease({ mode, forS, holder, estimate, zeroHits, overdraft }: LeaseRule): ExplainedLease {
  return { mode, forSeconds: forS, holder, ...(estimate > 0 && { estimate }), zeroHits, overdraft };
}

function windowOf({ decisions, nowS }: DecisionBatch, row: number): ExplainedWindow {
  const { startS, endS } = currentWindow(decisions.terms[row], decisions.unit[row], nowS);
  const time = (seconds: number): string => new Date(seconds * SECOND_MS).toISOString();
  return { start: time(startS), end: time(endS), resetSeconds: decisions.resetMs[row] / SECOND_MS };
}

function currentWindow(
  terms: CountingTerms | null,
  unit: number,
  nowS: number,
): { readonly startS: number; readonly endS: number } {
  if (terms === null) {
    const startS = windowStartS(unit, nowS);
    return { startS, endS: startS + windowLengthS(unit) };
  }
  // Another request may have moved the window since this one was planned.
  terms.window.moveTo(nowS);
  return terms.window;
}

function countOf({ batch, present }: DecidedBatch, row: number): ExplainedCount | null {
  const { counters, decisions } = batch;
  const op = decisions.op[row];
  const now = present[counters.opSlots[op]];
  if (Number.isNaN(now)) return null;
  const after = counters.opAfters[op];
  const heldBack = counters.opHeld[op] === 1;
  const terms = decisions.terms[row];
  if (terms === null || terms.admission === null) return { now, after, heldBack };
  const refused = counters.opRefused[op] !== REFUSED.no;
  return { now: terms.usedAt(now), after: terms.usedAt(after), heldBack, refused };
}

function beyondOf(
  { requests, decisions }: DecisionBatch,
  row: number,
  count: ExplainedCount | null,
): ExplainedBeyond | null {
  const afterLimit = decisions.terms[row]?.afterLimit ?? 0;
  if (afterLimit === 0 || count === null || count.heldBack || requests.isRefund[row] === 1) return null;
  const hits = count.after - mostHits(decisions, row);
  return hits > 0 ? { hits, passes: decisions.isOver[row] === 0 } : null;
}

function penaltyOf({ batch, present, penalties }: DecidedBatch, row: number): ExplainedPenalty | null {
  const { counters, decisions, nowMs } = batch;
  const slot = counters.opSlots[decisions.op[row]];
  const terms = counters.admissions.penalties.of(slot);
  if (terms === null || Number.isNaN(present[slot])) return null;
  const state = penalties[slot];
  const until = new Date(state.untilS * SECOND_MS).toISOString();
  return {
    violations: state.violations,
    after: terms.after,
    penalties: state.penalties,
    penalizedUntil: state.isActive(nowMs) ? until : null,
  };
}

function levelText(decided: DecidedBatch, row: number, terms: CountingTerms): string {
  const { requests, decisions, counters } = decided.batch;
  const slot = counters.opSlots[decisions.op[row]];
  const level = decided.present[slot];
  if (Number.isNaN(level)) return 'unknown';
  const text = heldText(decided, { row, slot, level }, terms);
  const hits = decisions.hits[row];
  const isRefund = requests.isRefund[row] === 1;
  const isAdmitted = terms.holders !== null && counters.opRefused[decisions.op[row]] === REFUSED.no;
  return isRefund || isAdmitted || !terms.neverFits(hits)
    ? text
    : `${text}; the limit never admits a request of ${hits} ${hits === 1 ? 'hit' : 'hits'}`;
}

/** What the slot of a row holds at a level. */
function heldText(
  { batch, leases }: DecidedBatch,
  { row, slot, level }: { readonly row: number; readonly slot: number; readonly level: number },
  terms: CountingTerms,
): string {
  const { counters } = batch;
  if (terms.admission!.windowS === 0) {
    const { window } = terms;
    const tokens = Math.max((terms.admission!.capacity - level) / terms.admission!.scale, 0);
    const requests = batch.decisions.requestsPerUnit[row];
    return `the bucket holds ${rounded(tokens)} of ${terms.total} tokens, and ${requests} flow in every ${window.terms.window}`;
  }
  if (terms.holders !== null) {
    const held = leases.held[slot];
    return terms.isConcurrency
      ? `${held} of ${terms.total} slots are held`
      : `${level - held} hits are spent in this window, and ${held} are held`;
  }
  if (terms.isFixed) return `${level} hits in this window`;
  const floor = counters.admissions.floors[slot];
  const previous = counters.admissions.previous[slot];
  return `${level - floor} hits in this window, and ${floor} for the ${previous} hits in the window before`;
}

function rounded(tokens: number): string {
  return String(Math.floor(tokens * 1_000) / 1_000);
}
