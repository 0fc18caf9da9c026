import type { Network } from './addresses.ts';

/** What the value of an entry of a descriptor must be, if a rule says more than one value. */
export type ValueCondition = ListCondition | NetworkCondition | RangeCondition | PatternCondition | Exclusion;

/** One of some values: `in`, `in_file`, or a `value` with `ignore_case`. */
export interface ListCondition {
  readonly kind: 'in';
  /** Each once. */
  readonly values: readonly string[];
  /** The name of the file that has them; empty if they are in the rule. */
  readonly file: string;
  readonly ignoreCase: boolean;
  /** Whether it is written as a `value`, which takes precedence over lists. */
  readonly isValue: boolean;
}

/** An address in one of some networks: `cidr`, `cidr_file`. */
export interface NetworkCondition {
  readonly kind: 'cidr';
  readonly networks: readonly Network[];
  readonly file: string;
}

/** A number: `range`. Both ends are included; an end that is not written is infinite. */
export interface RangeCondition {
  readonly kind: 'range';
  readonly from: number;
  readonly to: number;
}

/** A text in which a pattern is found: `matches`. */
interface PatternCondition {
  readonly kind: 'matches';
  readonly pattern: string;
  readonly ignoreCase: boolean;
}

/** A text that meets none of some conditions: `not`. */
export interface Exclusion {
  readonly kind: 'not';
  readonly conditions: readonly Exclude<ValueCondition, Exclusion>[];
}
