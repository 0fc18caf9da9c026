import type { CalendarTerms } from '../base/calendar/calendar-windows.ts';
import type { JsonObject } from '../base/json.ts';
import type { ValueCondition } from './conditions/condition.ts';
import type { Grouping } from './conditions/grouping.ts';
import type { DomainAnswers } from './domain-answers.ts';
import type { RequestMapping } from './request-mapping.ts';
import { WHOLE } from './shares.ts';

/** A checked set of rules (spec 2.2). Built by `parse/load.ts`, compiled by `compile.ts`. */
export interface RuleSet {
  readonly domains: readonly DomainRules[];
}

export interface DomainRules {
  readonly name: string;
  /** Top-level entries in definition order. With merging, those of all files, in file order. */
  readonly entries: readonly RuleEntry[];
  /** The `answers` block; absent if the domain has none. */
  readonly answers?: DomainAnswers;
  /** The `requests` block; absent if the domain has none. */
  readonly requests?: RequestMapping;
}

/** The blocks that a rule file has for its whole domain: their names in files and in {@link DomainRules}. */
export const DOMAIN_BLOCKS = ['answers', 'requests'] as const;
export type DomainBlock = (typeof DOMAIN_BLOCKS)[number];

/** Where a rule is written. */
export interface RulePlace {
  /** The path of the file, or the name of the resource of an xDS server. */
  readonly file: string;
  /** From 1; 0 for a resource, which has no lines. */
  readonly line: number;
}

export interface RuleEntry {
  /** Absent or null if it is not known. */
  readonly place?: RulePlace | null;
  /** Where the most precise overlay entry is written that has changed the rule. Absent or null if none has. */
  readonly overlaidBy?: RulePlace | null;
  readonly key: string;
  /** Empty if the entry has no value. */
  readonly value: string;
  /** Instead of a value. Absent if the entry has none. */
  readonly condition?: ValueCondition;
  /** What counts together. Absent if each value counts alone, or all of them with `share_threshold`. */
  readonly groupBy?: Grouping;
  /**
   * `key`, or `key_value` if there is a value: the text that matching compares. With a condition, its label instead of the
   * value. Unique on its level.
   */
  readonly composite: string;
  /** Empty if the entry has no limit. Several, at most {@link MAX_LIMITS}, if they are written as `rate_limits`. */
  readonly limits: readonly RuleLimit[];
  /** Of all limits of the entry. */
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  readonly valueToMetric: boolean;
  readonly shareThreshold: boolean;
  /** What is granted of the limits to proxies. Absent if the rule does not say it: then it is {@link DEFAULT_QUOTA}. */
  readonly quota?: QuotaRule;
  /** Returned as dynamic metadata if this entry is matched; null if absent or empty. */
  readonly metadata: JsonObject | null;
  readonly entries: readonly RuleEntry[];
}

/** Whether an entry is a wildcard: its value, or its key, has a `*`. */
export function isWildcard({ composite, condition }: Pick<RuleEntry, 'composite' | 'condition'>): boolean {
  return condition === undefined && composite.includes('*');
}

/** Maximum number of limits of an entry: each one is counted with every request. */
export const MAX_LIMITS = 8;

/**
 * The greatest limit, 2^53 - 1: the greatest number that JSON programs read exactly, and one more hit is still told from
 * it.
 */
export const GREATEST_LIMIT = Number.MAX_SAFE_INTEGER;

/**
 * The greatest limit of a sliding window. The embedded store keeps the sum of the hits of two windows, which must stay below
 * the numbers that mark penalties (`counters/embedded/penalty-cells.ts`).
 */
export const GREATEST_SLIDING_LIMIT = 2 ** 51 - 1;

/**
 * The most tokens that flow into a bucket in a millisecond, as the reduced fraction of `requests_per_unit` and the window.
 * The embedded store keeps a thousand times as many (`counters/embedded/cell-states.ts`).
 */
export const GREATEST_DRAIN = Math.floor(GREATEST_LIMIT / 1_000);

export interface RuleLimit {
  /**
   * The unit that answers show; see {@link LimitTerms.multiplier}. Unlimited rules and limits on concurrency have no unit.
   */
  readonly unit: Unit | null;
  /** 0 to {@link GREATEST_LIMIT}. Of a limit on concurrency, the number of leases. */
  readonly requestsPerUnit: number;
  readonly unlimited: boolean;
  /** Empty if the limit has no name. */
  readonly name: string;
  /** Names of the limits that this limit replaces. */
  readonly replaces: readonly string[];
  /** Null for a plain limit and for an unlimited rule. */
  readonly terms: LimitTerms | null;
  /** The part of `rate_limits` that the limit is; null for `rate_limit`. */
  readonly item: LimitItem | null;
}

/** What a limit in `rate_limits` has beside a `rate_limit`. */
interface LimitItem {
  /** In addition to the modes of the entry. */
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** The name of the limit, or else its window. The last level of the name of its statistics. Unique in the entry. */
  readonly level: string;
}

/**
 * How a limit counts, if it is not a plain limit: one of the units as a fixed window. Plain limits have no terms, and keep
 * the cache keys of envoyproxy/ratelimit.
 */
export interface LimitTerms {
  readonly algorithm: Algorithm;
  /** Length of the window in units; 1 with a calendar. A limit on concurrency has no window: the length of a lease in seconds. */
  readonly multiplier: number;
  /** Token bucket: the most tokens it holds. Else 0. */
  readonly burst: number;
  /** The calendar that determines the windows; null for windows of equal length. */
  readonly calendar: CalendarTerms | null;
  /** Null if keys that keep exceeding the limit are not penalized. */
  readonly penalty: PenaltyRule | null;
  /** Null if all requests may use the whole limit. */
  readonly classes: ClassRule | null;
  /** The share of the hits beyond the limit that pass, in hundredths of a percent; 0 if all are rejected. */
  readonly afterLimit: number;
  /** Null if hits are counted, and not held for a holder. */
  readonly lease: LeaseRule | null;
  /** How many hits one of `requests_per_unit` is worth, from 1 to {@link GREATEST_SCALE}. */
  readonly scale: number;
  /** The window as messages show it: `5m`, `36h`, `month@15 Europe/Berlin`; `concurrency` if there is none. */
  readonly window: string;
  /**
   * The end of the cache key. It tells apart limits of one entry, and limits before and after an edit of the rules. Empty if
   * the limit is counted as a plain limit.
   */
  readonly tag: string;
}

/** The `penalty` of a limit. Lengths are in seconds, and `maxS` is at least `forS`. */
export interface PenaltyRule {
  /** Number of violations that lead to a penalty: 1 to {@link MOST_VIOLATIONS}. */
  readonly after: number;
  readonly forS: number;
  /** How many times as long each further penalty is, from 1. */
  readonly factor: number;
  readonly maxS: number;
}

/**
 * The `classes` of a limit: several thresholds on one counter. The value of an entry of the descriptor that is not part of
 * the rule is the class of a request, and says which share of the limit the request may use. Shares are in hundredths of a
 * percent of the limit; see `shares.ts`.
 */
export interface ClassRule {
  /** The key of the entry. */
  readonly key: string;
  /** Its values, at least one and at most {@link MAX_CLASSES}, and their shares in the same order. */
  readonly names: readonly string[];
  readonly shares: readonly number[];
  /** The share for other values, and for descriptors without the entry. */
  readonly otherShare: number;
}

/**
 * The `quota` of a rule: what the quota service grants of each of its limits to proxies, which then decide requests
 * themselves. Requests that proxies ask about are counted in the same way with it.
 */
export interface QuotaRule {
  /** The share of the limit that is granted at the same time: hundredths of a percent, 1% to 100%. See `shares.ts`. */
  readonly share: number;
  /** How long a grant lasts, in seconds: {@link SHORTEST_GRANT_S} to {@link LONGEST_GRANT_S}. */
  readonly forS: number;
}

/** What is granted of a limit whose rule has no `quota`. */
export const DEFAULT_QUOTA: QuotaRule = { share: WHOLE, forS: 10 };

/** Whether a `quota` says what is the case without it. */
export function isDefaultQuota({ share, forS }: QuotaRule): boolean {
  return share === DEFAULT_QUOTA.share && forS === DEFAULT_QUOTA.forS;
}

export const SHORTEST_GRANT_S = 2;
export const LONGEST_GRANT_S = 300;

/**
 * How a limit works whose entry has a `reserve` or a `concurrency`: the first call of a holder takes a lease, and a later
 * call of the same holder ends it. See `counters/leases/lease.ts`.
 */
export interface LeaseRule {
  readonly mode: LeaseMode;
  /** How long a lease lasts that is neither ended nor extended, in seconds: 1 to {@link LONGEST_LEASE_S}. */
  readonly forS: number;
  /** The key of the entry of the descriptor that names the holder; empty if leases have no holders. */
  readonly holder: string;
  /** The hits that a call without hits holds; 0 if such a call holds none. */
  readonly estimate: number;
  /** Whether a call with hits ends the lease of its holder, and does not take another one. */
  readonly settles: boolean;
  /** What a call without hits does to the lease of its holder. */
  readonly zeroHits: 'extend' | 'settle';
  /** Whether hits beyond the estimates take room from later requests. */
  readonly overdraft: 'refuse_next' | 'allow';
}

/**
 * The modes of leases.
 *
 * - `reserve`: the hits of the first call are held, and those of the last call are spent
 * - `concurrency`: every lease holds a slot, and nothing is spent
 * - `once`: the hits of the first call are spent, and later calls of the holder count nothing. Plain limits beside one of
 *   the other modes work like this
 */
export type LeaseMode = 'reserve' | 'concurrency' | 'once';

/**
 * The key of the entry of a descriptor whose value says what a call wants of the lease of its holder: one of
 * `LEASE_ACTION_NAMES`. For proxies, whose configuration knows which of their calls ends a lease.
 */
export const LEASE_ACTION_KEY = 'lease_action';

/** The longest lease: 30 days. */
export const LONGEST_LEASE_S = 2_592_000;

/** The greatest scale of a limit. */
export const GREATEST_SCALE = 1_000_000_000;

/** Maximum number of classes of a limit: each one has statistics, and a request is compared with their names. */
export const MAX_CLASSES = 16;

/** The greatest `after` of a penalty. */
export const MOST_VIOLATIONS = 1_000;

/** The algorithms by the names that rule files use, and their numbers in compiled rules. */
export const ALGORITHMS = { fixed_window: 0, sliding_window: 1, token_bucket: 2 } as const;
export type Algorithm = keyof typeof ALGORITHMS;

/** The numbers of the units in `RateLimitResponse.RateLimit.Unit`; 0 is UNKNOWN. */
export const UNIT_NUMBERS = { second: 1, minute: 2, hour: 3, day: 4, month: 5, year: 6, week: 7 } as const;
export type Unit = keyof typeof UNIT_NUMBERS;

/** A fault in a rule file. Lines and columns count from 1; 0 stands for the whole file or a source without lines. */
export interface RuleFault {
  /** The path of the file, or the name of the resource. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The path of the entry: `domain.key_value.key`. Empty at the top level. */
  readonly path: string;
  /** The problem, and what to write instead. */
  readonly message: string;
}

/** One line for a log or a terminal: `file:line:column: path: message`. */
export function describeRuleFault(fault: RuleFault): string {
  const place = fault.line > 0 ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
  return fault.path === '' ? `${place}: ${fault.message}` : `${place}: ${fault.path}: ${fault.message}`;
}

/** A rule file, or a resource of an xDS server, as a source delivers it. */
export interface RuleFile {
  readonly name: string;
  readonly content: Uint8Array;
  /**
   * `resource`: a `RateLimitConfig` in protobuf wire format. `overlay`: YAML that changes the rules of the other files.
   * `values`: values or networks that rules refer to, one on each line. Default: YAML.
   */
  readonly format?: 'yaml' | 'resource' | 'overlay' | 'values';
  /** Number of lines before the text, if it is a part of its file. Default: 0. */
  readonly linesBefore?: number;
  /** The source, if there are several. Shown in faults. */
  readonly origin?: string;
}

/** A set of rules was refused. Lists all faults, at most {@link MAX_REPORTED_FAULTS}. */
export class RuleSetRefused extends Error {
  readonly faults: readonly RuleFault[];

  constructor(faults: readonly RuleFault[]) {
    super(faults.map(describeRuleFault).join('\n'));
    this.name = 'RuleSetRefused';
    this.faults = faults;
  }
}

/** Maximum number of faults that are reported, to keep the log readable. */
export const MAX_REPORTED_FAULTS = 20;

/**
 * The outcome of loading a set of rules.
 *
 * - `active`: the set decides requests
 * - `refused`: the set has faults
 * - `failed`: the set could not be compiled for a reason outside the set
 * - `dropped`: a newer set took its place, or the service is stopping
 */
export type LoadOutcome =
  | { readonly kind: 'active' }
  | { readonly kind: 'refused' | 'failed'; readonly reasons: readonly string[] }
  | { readonly kind: 'dropped' };

/** Receives the sets of rules that a source delivers. A set replaces the set before as a whole, or changes nothing. */
export interface RuleSetLoader {
  /** Loads a complete set of rules. The promise never rejects. */
  load(files: readonly RuleFile[]): Promise<LoadOutcome>;
  /** Reports that the source has a set that cannot be loaded at all. The active rules stay active. */
  refuse(reasons: readonly string[]): void;
}
