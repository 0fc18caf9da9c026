/** The part of a value that counts together, for rules that count each value alone. */
export type Grouping =
  | { readonly by: 'prefix'; readonly ipv4Bits: number; readonly ipv6Bits: number }
  | { readonly by: 'segments'; readonly count: number };

/** The greatest number of path segments in a {@link Grouping}. */
export const MOST_SEGMENTS = 31;

/** The bits of an IPv6 address that count together unless a rule says it: what one subscriber usually has. */
export const DEFAULT_IPV6_BITS = 64;

/** The place of each number of a grouping in the flags of an entry (`ENTRY.flags`), and its mask. */
const NUMBERS = {
  ipv4Bits: [9, 0x3f],
  ipv6Bits: [15, 0xff],
  segments: [23, 0x1f],
} as const;

/** A grouping in the flags of an entry. */
export function groupingBits(grouping: Grouping): number {
  if (grouping.by === 'segments') return grouping.count << NUMBERS.segments[0];
  return (grouping.ipv4Bits << NUMBERS.ipv4Bits[0]) | (grouping.ipv6Bits << NUMBERS.ipv6Bits[0]);
}

/** A number of a grouping, from the flags of an entry that has one. Without segments, it is by prefix. */
export function groupingOf(flags: number, number: keyof typeof NUMBERS): number {
  const [shift, mask] = NUMBERS[number];
  return (flags >>> shift) & mask;
}
