/** The candidate that `text` was most likely meant to be; null when none is close. */
export function nearest(text: string, candidates: readonly string[]): string | null {
  // One slip in three characters still is a slip; more is another word.
  return nearestWithin(text, candidates, Math.max(1, Math.floor(text.length / 3)));
}

/** The candidate with the fewest slips, and with no more than `slips`; null when there is none. */
export function nearestWithin(text: string, candidates: Iterable<string>, slips: number): string | null {
  const letters = lettersOf(text);
  let best: string | null = null;
  let most = slips;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - text.length) > most) continue;
    // A slip takes one letter away and brings another one: this leaves few candidates, at a fraction of the cost.
    if (bitsIn(letters ^ lettersOf(candidate)) > 2 * most) continue;
    const distance = editDistance(text, candidate, most);
    if (distance > most) continue;
    best = candidate;
    // Only a candidate that is nearer takes the place of this one.
    most = distance - 1;
  }
  return best;
}

/** A bit for each letter that occurs; other characters share some bits. */
function lettersOf(text: string): number {
  let letters = 0;
  for (let i = 0; i < text.length; i++) letters |= 1 << (text.charCodeAt(i) & 31);
  return letters;
}

function bitsIn(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * How many characters must be added, removed, replaced or swapped with their neighbor to turn one into the other; more
 * than `most` as soon as that is certain.
 */
function editDistance(from: string, to: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let distance = Math.min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (same ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        distance = Math.min(distance, beforeLast[column - 2] + 1);
      }
      current.push(distance);
    }
    // A swap reaches back two rows, so one row beyond the bound is not enough to be certain.
    if (Math.min(...current) > most && Math.min(...last) > most) return most + 1;
    beforeLast = last;
    last = current;
  }
  return last[to.length];
}
