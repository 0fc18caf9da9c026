import type { JsonObject } from '../base/json.ts';

/** A checked set of rules (spec 2.2). Built by `parse/load.ts`, compiled by `compile.ts`. */
export interface RuleSet {
  readonly domains: readonly DomainRules[];
}

export interface DomainRules {
  readonly name: string;
  /** Top-level entries in definition order. With merging, those of all files, in file order. */
  readonly entries: readonly RuleEntry[];
}

export interface RuleEntry {
  readonly key: string;
  /** Empty if the entry has no value. */
  readonly value: string;
  /** `key`, or `key_value` if there is a value: the text that matching compares. Unique on its level. */
  readonly composite: string;
  readonly limit: RuleLimit | null;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  readonly valueToMetric: boolean;
  readonly shareThreshold: boolean;
  /** Returned as dynamic metadata if this entry is matched; null if absent or empty. */
  readonly metadata: JsonObject | null;
  readonly entries: readonly RuleEntry[];
}

export interface RuleLimit {
  /** Unlimited rules have no unit. */
  readonly unit: Unit | null;
  /** 0 to 2^32 - 1. */
  readonly requestsPerUnit: number;
  readonly unlimited: boolean;
  /** Empty if the limit has no name. */
  readonly name: string;
  /** Names of the limits that this limit replaces. */
  readonly replaces: readonly string[];
}

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
  /** `resource`: a `RateLimitConfig` in protobuf wire format. Default: YAML. */
  readonly format?: 'yaml' | 'resource';
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
