import { NEVER_FULL } from '../../../../src/counters/batch.ts';
import { ACTION } from '../../../../src/counters/leases/lease.ts';
import type { RateLimitRequest, RequestDescriptor } from '../../../../src/messages/client-codec.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import type { SteeringRecord } from '../../../../src/steering/record.ts';
import type { TestGroup, TestOp } from '../../../support/counting.ts';
import type { LeaseAnswer } from '../../../support/lease-model.ts';
import { type ExpectedLimit, HOLDER_KEY, limitsOf } from './expected-limits.ts';
import { isBanned, overridden, recordFor } from './expected-steering.ts';

/** What must become of a limit of a request. */
export interface ExpectedPart {
  readonly limit: ExpectedLimit;
  readonly op: TestOp;
  /** The local cache has answered, so that the store was not asked. */
  isCached: boolean;
  /** The store was not able to tell the count. */
  isUncounted: boolean;
  /** Nobody can say what the answer is. */
  isDoubtful: boolean;
  /** What the store must have said; null before it was asked. */
  counted: LeaseAnswer | null;
  /** The same for the counters of the instance, while it has lost the store. */
  countedLocally: LeaseAnswer | null;
  /** When the hits of a refused request fit, in milliseconds from when it was counted. */
  waitMs: number | null;
}

/** A descriptor without parts has no limit. */
export interface ExpectedDescriptor {
  readonly asked: RequestDescriptor;
  readonly hits: number;
  readonly isRefund: boolean;
  readonly parts: readonly ExpectedPart[];
  /** A record of an operator decides instead of these limits. */
  readonly steered: {
    readonly kind: 'ban' | 'pass' | 'pass beside a ban';
    readonly limits: readonly ExpectedLimit[];
  } | null;
  /** Several limits, of which the answer shows one. */
  readonly isSeveral: boolean;
}

/** A request as the rules of its moment see it. */
export interface ExpectedRequest {
  readonly request: RateLimitRequest;
  readonly isDomainKnown: boolean;
  readonly descriptors: readonly ExpectedDescriptor[];
  /** Whether a limit that is full holds back the hits of the others. */
  readonly holdsBack: boolean;
}

/** What applies to a request. */
export function expectedRequest(
  request: RateLimitRequest,
  { rules, records }: { readonly rules: RuleSet; readonly records: readonly SteeringRecord[] },
  { nowS, holdsBack }: { readonly nowS: number; readonly holdsBack: boolean },
): ExpectedRequest {
  const domain = rules.domains.find(({ name }) => name === request.domain);
  if (domain === undefined) return { request, isDomainKnown: false, descriptors: [], holdsBack };
  const found = request.descriptors.map(each => limitsOf(domain, each, nowS));
  const hasLeases = found.flat().some(({ terms }) => terms?.lease != null);
  const isHolding = holdsBack || hasLeases;
  const replaced = new Set(found.flat().flatMap(({ replaces }) => replaces));
  const isRefused = isBanned(records, request, nowS);
  const descriptors = request.descriptors.map((asked, i): ExpectedDescriptor => {
    const hits = asked.hitsAddend ?? (request.hitsAddend === 0 ? 1 : request.hitsAddend);
    const isRefund = asked.isNegativeHits === true;
    const isOwn = asked.limit !== null;
    const left = found[i].filter(limit => isOwn || limit.isUnlimited || !replaced.has(limit.name));
    const isSeveral = found[i].length > 1;
    const own = { asked, hits, isRefund, isSeveral };
    const record = recordFor(records, asked, nowS);
    const isOfBan = record?.kind === 'ban' && !isRefund;
    if (isOfBan) return { ...own, parts: [], steered: { kind: 'ban', limits: left } };
    if (record?.kind === 'pass' && left.length > 0)
      return { ...own, parts: [], steered: { kind: isRefused ? 'pass beside a ban' : 'pass', limits: left } };
    if (isRefused && !isRefund) return { ...own, parts: [], steered: null };
    const isOverridden = record?.kind === 'override' && !isSeveral;
    const limits = isOverridden ? left.map(limit => overridden(limit, record)) : left;
    const parts = limits.map(limit => partOf(limit, asked, { hits, isRefund, isHolding }));
    return { ...own, parts, steered: null };
  });
  return { request, isDomainKnown: true, descriptors, holdsBack: isHolding };
}

function partOf(
  limit: ExpectedLimit,
  asked: RequestDescriptor,
  {
    hits,
    isRefund,
    isHolding,
  }: { readonly hits: number; readonly isRefund: boolean; readonly isHolding: boolean },
): ExpectedPart {
  const op: TestOp = {
    ...{ key: limit.key, hits, isRefund, limit: isHolding && mayHoldBack(limit) ? limit.most : NEVER_FULL },
    ...(limit.terms !== undefined && { terms: limit.terms }),
    ...(limit.terms?.lease != null && { lease: leaseOf(asked, limit.terms.lease.hasHolders) }),
  };
  return {
    ...{ limit, op, isCached: false, isUncounted: false, isDoubtful: false },
    ...{ counted: null, countedLocally: null, waitMs: null },
  };
}

/** Limits in shadow mode hold nothing back unless they are plain, nor do those after which a share passes. */
export function mayHoldBack({ afterLimit, isPlain, isShadow }: ExpectedLimit): boolean {
  return afterLimit === 0 && (isPlain || !isShadow);
}

function leaseOf({ entries, lease }: RequestDescriptor, hasHolders: boolean): NonNullable<TestOp['lease']> {
  if (lease != null && lease.id !== '') return { holder: lease.id, action: lease.action };
  if (!hasHolders) return { action: ACTION.any };
  const named = entries.findLast(({ key }) => key === HOLDER_KEY);
  return { holder: named?.value ?? '', action: ACTION.any };
}

/** The parts that the store is asked about, as a request to its model. */
export function groupOf(expected: ExpectedRequest, parts: readonly ExpectedPart[]): TestGroup {
  const all = partsOf(expected);
  const held = expected.holdsBack && all.some(({ isCached, limit }) => isCached && mayHoldBack(limit));
  return { ops: parts.map(({ op }) => op), held };
}

/** All limits of a request that are counted. */
export function partsOf({ descriptors }: ExpectedRequest): ExpectedPart[] {
  return descriptors.flatMap(({ parts }) => parts).filter(({ limit }) => !limit.isUnlimited);
}
