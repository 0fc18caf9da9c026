/**
 * A set of code points: first and last of each range, one behind the other. The ranges are in ascending order, and there
 * is a gap between one and the next.
 */
export type CodePoints = readonly number[];

/**
 * Stands for a byte that is not part of well-formed UTF-8, as if such a byte were one more code point. Only complements
 * contain it: `[^a]` and `.` match such a byte, and nothing else does.
 */
export const STRAY_BYTE = 0x110000;

/** `\d`. */
export const DIGITS: CodePoints = [0x30, 0x39];

/** `\w`, and what `\b` regards as part of a word. */
export const WORD_CHARACTERS: CodePoints = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];

/** `\s`, as ECMAScript defines it. */
export const SPACES: CodePoints = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
].flat();

/** What `.` does not match: the ends of lines. */
export const LINE_ENDS: CodePoints = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029];

/** The set of the code points of all `ranges`, which may overlap and have any order. */
export function codePoints(ranges: readonly (readonly [first: number, last: number])[]): CodePoints {
  const merged: number[] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (merged.length > 0 && first <= merged[merged.length - 1] + 1) {
      merged[merged.length - 1] = Math.max(merged[merged.length - 1], last);
    } else {
      merged.push(first, last);
    }
  }
  return merged;
}

/** The ranges of a set. */
export function rangesOf(set: CodePoints): [first: number, last: number][] {
  return Array.from({ length: set.length / 2 }, (_, i) => [set[2 * i], set[2 * i + 1]]);
}

/** Everything that is not in the set, also a stray byte. */
export function complement(set: CodePoints): CodePoints {
  const others: number[] = [];
  let next = 0;
  for (const [first, last] of rangesOf(set)) {
    if (first > next) others.push(next, first - 1);
    next = last + 1;
  }
  if (next <= STRAY_BYTE) others.push(next, STRAY_BYTE);
  return others;
}

const CASE_DISTANCE = 0x20;

/** The set, and of each ASCII letter in it the other case as well. */
export function withBothCases(set: CodePoints): CodePoints {
  const ranges = rangesOf(set);
  const shifted = (first: number, last: number, distance: number): [number, number][] =>
    ranges
      .map(range => [Math.max(range[0], first), Math.min(range[1], last)] as const)
      .filter(([from, to]) => from <= to)
      .map(([from, to]) => [from + distance, to + distance]);
  return codePoints([
    ...ranges,
    ...shifted(0x41, 0x5a, CASE_DISTANCE),
    ...shifted(0x61, 0x7a, -CASE_DISTANCE),
  ]);
}
