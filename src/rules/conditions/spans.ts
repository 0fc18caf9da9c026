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

/**
 * Ranges as spans of numbers in their order. A range with two ends is narrower than one with one end. Of two ranges with only
 * `from`, or with only `to`, the one that includes fewer numbers is narrower. A range with only `from` counts as narrower than
 * one with only `to`.
 */
export function rangeSpans(
  ranges: readonly { readonly condition: RangeCondition; readonly entry: number }[],
): Span[] {
  const byWidth = ranges.toSorted(({ condition: a }, { condition: b }) => compareWidths(a, b));
  return byWidth.map(({ condition, entry }, i) => ({
    from: orderedNumber(condition.from),
    to: orderedNumber(condition.to),
    size: i,
    entry,
  }));
}

function compareWidths(a: RangeCondition, b: RangeCondition): number {
  const [openA, openB] = [openEnds(a), openEnds(b)];
  if (openA !== openB) return openA - openB;
  if (openA === OPEN.none) return a.to - a.from - (b.to - b.from);
  return openA === OPEN.to ? b.from - a.from : a.to - b.to;
}

/** Which end of a range is open, in the order of widths. A range without ends is a fault. */
const OPEN = { none: 0, to: 1, from: 2 } as const;

function openEnds({ from, to }: RangeCondition): number {
  if (!Number.isFinite(from)) return OPEN.from;
  return Number.isFinite(to) ? OPEN.none : OPEN.to;
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
