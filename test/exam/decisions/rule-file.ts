/** A `rate_limit` block, or an item of `rate_limits`, as rule files write it. */
export interface LimitText {
  readonly unit?: string;
  readonly unit_multiplier?: number;
  readonly window?: string;
  readonly calendar?: { readonly period: string; readonly zone: string; readonly starts?: number };
  readonly algorithm?: string;
  readonly burst?: number;
  readonly penalty?: {
    readonly after?: number;
    readonly for: string;
    readonly factor?: number;
    readonly max?: string;
  };
  /** `key`, `default`, and the share of each class. */
  readonly classes?: Readonly<Record<string, string>>;
  readonly after_limit?: { readonly admit: string };
  readonly scale?: number;
  readonly reserve?: {
    readonly for: string;
    readonly overdraft?: string;
    readonly zero_hits?: string;
    readonly estimate?: number;
  };
  readonly concurrency?: { readonly limit: number; readonly for: string };
  readonly shadow_mode?: boolean;
  readonly quota_mode?: boolean;
  readonly requests_per_unit?: number;
  readonly unlimited?: boolean;
  readonly name?: string;
  readonly replaces?: readonly { readonly name: string }[];
}

/** What rule files write instead of a value. */
export interface ConditionText {
  readonly in?: readonly string[];
  readonly cidr?: readonly string[];
  readonly range?: { readonly from?: number; readonly to?: number };
  readonly matches?: string;
  readonly ignore_case?: boolean;
}

/** An entry as rule files write it. */
export interface EntryText extends ConditionText {
  readonly key: string;
  readonly value?: string;
  readonly not?: ConditionText & { readonly value?: string };
  readonly group_by?: { readonly prefix?: number; readonly ipv6_prefix?: number; readonly segments?: number };
  readonly holder?: string;
  readonly rate_limit?: LimitText;
  readonly rate_limits?: readonly LimitText[];
  readonly shadow_mode?: boolean;
  readonly quota_mode?: boolean;
  readonly detailed_metric?: boolean;
  readonly value_to_metric?: boolean;
  readonly share_threshold?: boolean;
  readonly metadata?: object;
  readonly descriptors?: readonly EntryText[];
}

/** A rule file of the domain `d`. It is written as JSON, which is YAML too. */
export function ruleFile(...descriptors: readonly EntryText[]): string {
  return JSON.stringify({ domain: 'd', descriptors });
}

/** A limit an hour, unless `more` names another unit. */
export function limit(requestsPerUnit: number, more: Partial<LimitText> = {}): LimitText {
  return { unit: 'hour', requests_per_unit: requestsPerUnit, ...more };
}

/** A limit that nothing in a test reaches, with a name to know it by. */
export function named(name: string): LimitText {
  return limit(1_000_000, { name });
}

/** A sliding window of five minutes. */
export function sliding(requestsPerUnit: number, more: Partial<LimitText> = {}): LimitText {
  return { window: '5m', requests_per_unit: requestsPerUnit, algorithm: 'sliding_window', ...more };
}

/** A token bucket into which so many tokens flow each minute. */
export function bucket(requestsPerUnit: number, burst: number, more: Partial<LimitText> = {}): LimitText {
  return { window: '1m', requests_per_unit: requestsPerUnit, algorithm: 'token_bucket', burst, ...more };
}

/** Entries nested into each other, in the order given: the first is the outermost. */
export function nested(...path: readonly EntryText[]): EntryText {
  return path.reduceRight((inner, outer) => ({ ...outer, descriptors: [inner] }));
}
