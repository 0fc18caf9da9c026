import { ADMISSION, type AdmissionTerms } from '../../../../src/counters/admission/admission.ts';
import { LEASE_MODE } from '../../../../src/counters/leases/lease.ts';
import type { RequestDescriptor } from '../../../../src/messages/client-codec.ts';
import { UNIT_SECONDS } from '../../../../src/messages/current-limit.ts';
import type {
  DomainRules,
  LeaseRule,
  LimitTerms,
  RuleEntry,
  RuleLimit,
} from '../../../../src/rules/rule-set.ts';
import { UNIT_NUMBERS } from '../../../../src/rules/rule-set.ts';
import {
  type SlowLevel,
  slowCacheText,
  slowMatch,
  slowMetricKey,
} from '../../../exam/decisions/slow-rules.ts';
import { slidingWindow, tokenBucket } from '../../../support/admission.ts';

/** A limit that applies to a descriptor at a time. */
export interface ExpectedLimit {
  readonly name: string;
  readonly replaces: readonly string[];
  readonly isUnlimited: boolean;
  readonly requestsPerUnit: number;
  /** The most hits that it admits when it is unused. */
  readonly most: number;
  /** The number of its unit; 0 for none. */
  readonly unit: number;
  /** `after_limit`, in hundredths of a percent. */
  readonly afterLimit: number;
  readonly isShadow: boolean;
  readonly isQuota: boolean;
  /** Whether the limit is one of `rate_limits`, or not a plain one. */
  readonly isPlain: boolean;
  /** Under which its hits are counted in the store. */
  readonly key: string;
  /** The end of its window in seconds. */
  readonly endS: number;
  /** Undefined if the store adds all hits. */
  readonly terms: AdmissionTerms | undefined;
  /** The name of its statistics. */
  readonly metric: string;
}

/** The key of the entry that names the holder of a lease, in all rules of histories. */
export const HOLDER_KEY = 'id';

/** The limits of the rules, or the one of the request, as `docs/rules.md` says it. Empty if no limit applies. */
export function limitsOf(
  domain: DomainRules,
  descriptor: RequestDescriptor,
  nowS: number,
): readonly ExpectedLimit[] {
  if (descriptor.limit !== null) return [ownLimit(domain.name, descriptor, nowS)];
  const levels = matched(domain, descriptor);
  const entry = levels?.at(-1)?.entry;
  if (levels === null || entry === undefined) return [];
  return entry.limits.map(limit => limitOfRule({ domain: domain.name, levels, entry, limit, nowS }));
}

/** The entry of the holder of a lease is no part of the path of a rule. */
function matched({ entries }: DomainRules, descriptor: RequestDescriptor): SlowLevel[] | null {
  const path = descriptor.entries.filter(({ key }) => key !== HOLDER_KEY);
  const levels = slowMatch(entries, path);
  const hasHolders = levels?.at(-1)?.entry.limits.some(({ terms }) => terms?.lease?.holder === HOLDER_KEY);
  return hasHolders ? levels : slowMatch(entries, descriptor.entries);
}

function ownLimit(domain: string, { entries, limit }: RequestDescriptor, nowS: number): ExpectedLimit {
  const { requestsPerUnit, unit } = limit!;
  const startS = nowS - (nowS % UNIT_SECONDS[unit]);
  const names = entries.map(({ key, value }) => (value === '' ? key : `${key}_${value}`));
  return {
    ...{ name: '', replaces: [], isUnlimited: false, requestsPerUnit, most: requestsPerUnit, unit },
    ...{ afterLimit: 0, isShadow: false, isQuota: false, isPlain: true, terms: undefined },
    key: `${domain}_${entries.map(({ key, value }) => `${key}_${value}_`).join('')}${startS}`,
    endS: startS + UNIT_SECONDS[unit],
    metric: `${domain}.${names.join('.')}`,
  };
}

interface LimitOfRule {
  readonly domain: string;
  readonly levels: readonly SlowLevel[];
  readonly entry: RuleEntry;
  readonly limit: RuleLimit;
  readonly nowS: number;
}

function limitOfRule({ domain, levels, entry, limit, nowS }: LimitOfRule): ExpectedLimit {
  const { name, replaces, unlimited: isUnlimited, requestsPerUnit, item } = limit;
  const { terms } = limit;
  const unit = limit.unit === null ? 0 : UNIT_NUMBERS[limit.unit];
  const [startS, endS] = windowOf(limit, unit, nowS);
  const path = slowMetricKey(domain, [...levels]);
  const counting = termsOf(limit, unit);
  return {
    ...{ name, replaces, isUnlimited, requestsPerUnit, unit, endS, terms: counting },
    most: counting === undefined ? requestsPerUnit * (terms?.scale ?? 1) : counting.capacity / counting.scale,
    afterLimit: terms?.afterLimit ?? 0,
    isShadow: entry.shadowMode || (item?.shadowMode ?? false),
    isQuota: entry.quotaMode || (item?.quotaMode ?? false),
    isPlain: terms === null,
    key: `${domain}_${slowCacheText(levels)}${endOfKey(terms, counting !== undefined, startS)}`,
    metric: item === null ? path : `${path}.${item.level}`,
  };
}

/** Limits whose hits the store admits have one key for all windows. */
function endOfKey(terms: LimitTerms | null, isAdmitted: boolean, startS: number): string {
  const tag = terms === null || terms.tag === '' ? '' : `~${terms.tag}`;
  return isAdmitted ? tag : `${startS}${tag}`;
}

/** Windows of equal length begin at multiples of it, and those of calendars in UTC at midnight. */
function windowOf({ terms }: RuleLimit, unit: number, nowS: number): [startS: number, endS: number] {
  if (terms?.calendar != null) {
    const now = new Date(nowS * 1_000);
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
    return [Date.UTC(year, month) / 1_000, Date.UTC(year, month + 1) / 1_000];
  }
  if (unit === 0) return [nowS, nowS];
  const lengthS = UNIT_SECONDS[unit] * (terms?.multiplier ?? 1);
  const startS = nowS - (nowS % lengthS);
  return [startS, startS + lengthS];
}

function termsOf({ terms, requestsPerUnit }: RuleLimit, unit: number): AdmissionTerms | undefined {
  if (terms === null) return undefined;
  const windowS = UNIT_SECONDS[unit] * terms.multiplier;
  if (terms.algorithm === 'sliding_window') return slidingWindow(requestsPerUnit, windowS);
  if (terms.algorithm === 'token_bucket') return tokenBucket(requestsPerUnit, windowS, terms.burst);
  if (terms.lease === null) return undefined;
  return {
    ...{ admission: ADMISSION.leased, scale: 1, capacity: requestsPerUnit * terms.scale, drain: 0 },
    windowS: terms.lease.mode === 'concurrency' ? terms.lease.forS : windowS,
    lease: leaseOf(terms.lease),
  };
}

function leaseOf({ mode, forS, holder, estimate, settles, zeroHits, overdraft }: LeaseRule) {
  return {
    ...{ mode: LEASE_MODE[mode], forS, hasHolders: holder !== '', estimate, settles },
    zeroSettles: zeroHits === 'settle',
    allowsOverdraft: overdraft === 'allow',
  };
}
