import type { NetworkCondition, RangeCondition, ValueCondition } from './condition.ts';
import type { Span } from './intervals.ts';
import { orderedNumber } from './numbers.ts';

/** The networks of a condition as spans of addresses. */
export function networkSpans({ networks }: NetworkCondition, family: 4 | 6, entry: number): Span[] {
  const length = family === 4 ? 32 : 128;
  return networks
    .filter(network => network.family === family)
    .map(({ first, bits }) => ({
      from: first,
      to: first + (1n << BigInt(length - bits)) - 1n,
      size: length - bits,
      entry,
    }));
}

/** A range as a span of numbers in their order. */
export function rangeSpan({ from, to }: RangeCondition, entry: number): Span {
  return { from: orderedNumber(from), to: orderedNumber(to), size: to - from, entry };
}

/** The conditions of one kind, with their entries. */
export function ofKind<K extends ValueCondition['kind']>(
  entries: readonly ConditionEntry[],
  kind: K,
): { readonly condition: Extract<ValueCondition, { readonly kind: K }>; readonly entry: number }[] {
  return entries.flatMap(({ condition, entry }) =>
    condition.kind === kind ? [{ condition: condition as Extract<ValueCondition, { kind: K }>, entry }] : [],
  );
}

/** A condition, and the number of the entry that has it. */
export interface ConditionEntry {
  readonly condition: ValueCondition;
  readonly entry: number;
}
