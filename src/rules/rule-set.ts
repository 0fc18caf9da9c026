import type { JsonObject } from '../base/json.ts';

/** The checked tree: what rule files say once every rule of spec 2.2 holds. Built by `parse`, read by `compile`. */
export interface RuleSet {
  readonly domains: readonly DomainRules[];
}

export interface DomainRules {
  readonly name: string;
  /** Top-level entries in definition order; with merging, of all files in file order. */
  readonly entries: readonly RuleEntry[];
}

export interface RuleEntry {
  readonly key: string;
  /** Empty when the entry has no value. */
  readonly value: string;
  /** `key`, or `key_value` when there is a value: the text that matching compares. Unique on its level. */
  readonly composite: string;
  readonly limit: RuleLimit | null;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  readonly valueToMetric: boolean;
  readonly shareThreshold: boolean;
  /** Returned as dynamic metadata when this entry is the matched one; null when absent or empty. */
  readonly metadata: JsonObject | null;
  readonly entries: readonly RuleEntry[];
}

export interface RuleLimit {
  /** Unlimited rules have no unit. */
  readonly unit: Unit | null;
  /** 0 to 2^32 - 1. */
  readonly requestsPerUnit: number;
  readonly unlimited: boolean;
  /** Empty when the rule has none. */
  readonly name: string;
  /** Names of the limits that this one replaces. */
  readonly replaces: readonly string[];
}

/** Units by the numbers that `RateLimitResponse.RateLimit.Unit` gives them; 0 is UNKNOWN. */
export const UNIT_NUMBERS = { second: 1, minute: 2, hour: 3, day: 4, month: 5, year: 6, week: 7 } as const;
export type Unit = keyof typeof UNIT_NUMBERS;

/** One thing wrong with a rule file. Lines and columns count from 1; 0 means the whole file, or no text at all. */
export interface RuleFault {
  /** The file as it was read, so that a terminal can open it; of a resource its name. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Where in the tree: `domain.key_value.key`, empty at the top. */
  readonly path: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** One line for a log or a terminal: `file:line:column: path: message`. */
export function describeRuleFault(fault: RuleFault): string {
  const place = fault.line > 0 ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
  return fault.path === '' ? `${place}: ${fault.message}` : `${place}: ${fault.path}: ${fault.message}`;
}

/** A rule file, or a resource of an xDS server, as a source hands it on. */
export interface RuleFile {
  readonly name: string;
  readonly content: Uint8Array;
  /** `resource`: a `RateLimitConfig` in protobuf wire format; else the content is YAML. */
  readonly format?: 'yaml' | 'resource';
  /** Which of several sources it is from; faults name it. */
  readonly origin?: string;
}

/** Rules were refused as a whole; every fault found is listed (at most {@link MAX_REPORTED_FAULTS}). */
export class RuleSetRefused extends Error {
  readonly faults: readonly RuleFault[];

  constructor(faults: readonly RuleFault[]) {
    super(faults.map(describeRuleFault).join('\n'));
    this.name = 'RuleSetRefused';
    this.faults = faults;
  }
}

/** More faults than this help nobody and would flood a log. */
export const MAX_REPORTED_FAULTS = 20;
