import { type ApiCall, callService } from '../service/call.ts';
import type { Entry } from './descriptor.ts';

/** Answers of the operator's API that the page uses; docs/operator-api.md describes them. */

/** Hits by outcome. */
export interface Figures {
  readonly hits: number;
  readonly refused: number;
  readonly near_limit: number;
  readonly shadow_refused: number;
}

/** Hits in an interval that ends at `time`. */
export interface RatePoint extends Figures {
  readonly time: string;
  readonly seconds: number;
}

/** Figures of the last hour, one point for each minute. All points have the same times. */
export interface LimitRates {
  /** Of all limits together. */
  readonly points: readonly RatePoint[];
  /** The limits with the most rejections, the most first; at most five. */
  readonly limits: readonly {
    readonly number: number;
    readonly path: string;
    readonly points: readonly RatePoint[];
  }[];
  /** Of all other limits together. */
  readonly rest: { readonly points: readonly RatePoint[] };
}

/** How much of a limit a key has used: in its current fixed window, or in the last minute. */
export interface FullestKey {
  /** More than 1 if the limit is exceeded. */
  readonly share: number;
  /** Null if it is not known, because the key has another limit. */
  readonly count: number | null;
  readonly most: number;
}

export interface Limit {
  /** Changes when rules are loaded. */
  readonly number: number;
  readonly domain: string;
  readonly path: string;
  readonly name: string;
  readonly meaning: string;
  readonly requests_per_unit: number;
  readonly unit: string;
  readonly window?: string;
  readonly algorithm: 'fixed_window' | 'sliding_window' | 'token_bucket';
  readonly burst?: number;
  readonly unlimited: boolean;
  readonly shadow_mode: boolean;
  readonly quota_mode: boolean;
  readonly statistics: string;
  readonly totals: Figures;
  readonly per_second: Figures;
  readonly last_hour: Figures;
  /** The key that is closest to the limit; null if none was counted lately. */
  readonly fullest: FullestKey | null;
  /** Hits and refusals of the last 20 minutes, by minute; null if they are not kept. */
  readonly spark?: readonly number[] | null;
  readonly refused_spark?: readonly number[] | null;
}

export interface RulePlace {
  readonly file: string;
  readonly line: number;
}

/** One limit, with what is known of it alone. */
export interface LimitDetails extends Limit {
  /** Its minutes, the oldest first; null if they are not kept. */
  readonly history: { readonly seconds: number; readonly points: readonly RatePoint[] } | null;
  /** The keys and values of the rule; an empty value matches every value. */
  readonly entries: readonly Entry[];
  /** Null for rules from an xDS server. */
  readonly place: RulePlace | null;
  /** The resource of the xDS server; null for rules from files. */
  readonly resource: string | null;
  /** The overlay entry that changes the rule; null if none does. */
  readonly overlay: RulePlace | null;
  /** A rule file with this rule. */
  readonly definition: string;
}

/** A key with many hits. */
export interface HotKey {
  readonly limit: number | null;
  readonly path: string | null;
  readonly key: string;
  readonly domain: string;
  /** Null for a key that is too long, or that has a pattern. */
  readonly entries: readonly Entry[] | null;
  readonly counter: string | null;
  readonly hits: number;
  readonly refused: number;
  /** The true numbers differ by at most this. */
  readonly error: number;
}

export interface HotKeyList {
  readonly since: string;
  readonly until: string;
  readonly keys: readonly HotKey[];
}

export interface LimitList {
  readonly time: string;
  readonly last_hour_seconds: number;
  readonly total: number;
  readonly offset: number;
  readonly limits: readonly Limit[];
}

export interface Refusal {
  readonly time: string;
  readonly path: string;
  readonly key: string;
  readonly domain: string;
  /** Null for a key that is too long, or that has a pattern. */
  readonly entries: readonly Entry[] | null;
  readonly hits: number;
  readonly count: number | null;
  /** The part of the count that leases hold; absent for a limit without leases. */
  readonly held?: number;
  readonly requests_per_unit: number;
  /** The hits that the limit allows: the burst of a token bucket. */
  readonly most: number;
  readonly shadow_mode: boolean;
  readonly penalized: boolean;
  /** An operator has banned the key. */
  readonly banned: boolean;
  readonly peer: string | null;
  readonly trace_id: string | null;
}

/** Quantiles of the last seconds; null without traffic. */
interface Latency {
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
}

/** A process that uses the same store. */
export interface ProcessStatus {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly started: string;
  readonly seen: string;
  readonly version: string;
  readonly hits_per_second: number | null;
  readonly rejected_per_second: number | null;
  readonly rules_loaded: string | null;
  /** Equal for rules that say the same; null in earlier versions, and without rules. */
  readonly rules_digest: string | null;
  /** Why newer rules are not active; null if the active rules are the latest. */
  readonly rules_error: string | null;
  readonly is_this: boolean;
}

export interface Status {
  readonly time: string;
  readonly version: string;
  readonly process: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly started: string;
  };
  readonly healthy: boolean;
  readonly components: readonly {
    readonly name: string;
    readonly healthy: boolean;
    /** Why it is not healthy; null if there is nothing to say. */
    readonly note: string | null;
  }[];
  readonly store: {
    readonly type: 'embedded' | 'redis' | 'memcached';
    /** `Redis at 10.0.0.5:6379`. */
    readonly address: string;
    readonly connected: boolean;
    readonly failure_mode: string;
  };
  readonly threads: { readonly serving: number; readonly deciding: number };
  readonly rules: {
    readonly limits: number;
    readonly domains: number;
    readonly loaded: string | null;
    readonly digest: string | null;
    readonly faults: number;
  };
  readonly latency: {
    readonly seconds: number;
    readonly decision: Latency;
    readonly store: Latency;
    readonly batch: { readonly requests_p50: number | null; readonly requests_p99: number | null };
  };
  readonly processes: readonly ProcessStatus[];
  readonly admin: { readonly changes: 'enabled' | 'no_token' };
  readonly tasks: { readonly enabled: boolean };
}

/**
 * Calls the operator's API.
 *
 * @param path below `/api/v1`, with its query
 * @throws ApiError with the detail of the problem
 */
export function callApi<Answer>(path: string, call: ApiCall = {}): Promise<Answer> {
  return callService<Answer>(`/api/v1${path}`, call);
}
