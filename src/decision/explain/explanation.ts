import type { JsonObject } from '../../base/json.ts';

/** What a request would be answered, and why. Nothing of it was counted. */
export interface Explanation {
  readonly domain: string;
  /** When it was worked out, RFC 3339, UTC: windows are those of this second. */
  readonly time: string;
  readonly descriptors: readonly DescriptorExplanation[];
  /** The `RateLimitResponse` in proto3 JSON; its statuses are also with their descriptors. */
  readonly answer: JsonObject;
}

/**
 * - `limited`: a limit applies
 * - `unlimited`: a rule applies and says that there is no limit
 * - `replaced`: a rule applies, but gives way to one that another descriptor of the request matched
 * - `no limit`: no rule with a limit applies
 */
export type Outcome = 'limited' | 'unlimited' | 'replaced' | 'no limit';

export interface DescriptorExplanation {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly hits: number;
  /** The hits are given back, and the descriptor is OK in any case. */
  readonly isRefund: boolean;
  readonly outcome: Outcome;
  /** In a sentence: why this rule, or why none. */
  readonly why: string;
  /** How each entry was matched, as far as matching went. */
  readonly levels: readonly MatchedLevel[];
  /** The limit of the rule, or the one that the descriptor brings; absent where there is none. */
  readonly limit?: ExplainedLimit;
  /** The rest is there only where the limit was to be asked for in the store. */
  readonly key?: string;
  readonly window?: ExplainedWindow;
  /** Null where the store could not say. */
  readonly count?: ExplainedCount | null;
  /** The `DescriptorStatus` in proto3 JSON. */
  readonly status: JsonObject;
}

export interface MatchedLevel {
  /** The entry of the descriptor, `key=value`. */
  readonly entry: string;
  /** The entry of the rules, as configured; null where none matched. */
  readonly rule: string | null;
  /** An exact match comes before one of a wildcard, and that before one of the key alone. */
  readonly matched: 'exactly' | 'by wildcard' | 'by key alone' | null;
}

export interface ExplainedLimit {
  /** Domain and entries as configured; null for a limit that the descriptor brings. */
  readonly rule: string | null;
  /** Empty for none. */
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** What the names of its statistics begin with. */
  readonly statistics: string;
}

export interface ExplainedWindow {
  readonly start: string;
  readonly end: string;
  readonly resetSeconds: number;
}

export interface ExplainedCount {
  /** Hits in the window so far. */
  readonly now: number;
  /** Hits with those of this request; for a refund, without those that it gives back. */
  readonly after: number;
  /** The hits of this descriptor would not be added, because the request is over another limit. */
  readonly heldBack: boolean;
}
