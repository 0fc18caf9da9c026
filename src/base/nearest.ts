/** Returns the candidate that the user most likely meant by `text`; null if no candidate is close. */
export function nearest(text: string, candidates: readonly string[]): string | null {
  // More than one typo in three characters is most likely another word.
  return nearestWithin(text, candidates, Math.max(1, Math.floor(text.length / 3)));
}

/** Returns the candidate with the fewest typos, at most `slips`; null if there is no such candidate. */
export function nearestWithin(text: string, candidates: Iterable<string>, slips: number): string | null {
  const letters = lettersOf(text);
  let best: string | null = null;
  let most = slips;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - text.length) > most) continue;
    // A typo removes at most one letter and adds at most one. This cheap check leaves few candidates.
    if (bitsIn(letters ^ lettersOf(candidate)) > 2 * most) continue;
    const distance = editDistance(text, candidate, most);
    if (distance > most) continue;
    best = candidate;
    // Only a closer candidate can replace this one.
    most = distance - 1;
  }
  return best;
}

/** Returns a bit set of the letters that occur. Other characters share bits with letters. */
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
 * Returns how many characters must be added, removed, replaced or swapped with their neighbor to turn one text into the
 * other. Returns `most + 1` as soon as the number is certain to exceed `most`.
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
    // A swap refers to the row before the last, so both rows have to exceed the bound.
    if (Math.min(...current) > most && Math.min(...last) > most) return most + 1;
    beforeLast = last;
    last = current;
  }
  return last[to.length];
}
