/** Maximum length of a name that a suggestion is made for. */
const LONGEST_GUESS = 40;
/** Maximum edit distance between a name and its suggestion. */
const MOST_EDITS = 2;

/** The candidate that is most similar to a name, the first of several; null if none is similar. */
export function likelyName(name: string, candidates: readonly string[]): string | null {
  if (name.length > LONGEST_GUESS) return null;
  const wanted = letters(name);
  let best: string | null = null;
  let fewest = MOST_EDITS + 1;
  for (const candidate of candidates) {
    const edits = editDistance(wanted, letters(candidate));
    // Short names are within two edits of too many words.
    if (edits < fewest && edits * 2 < candidate.length) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** `requestsPerUnit`, `requests-per-unit` and `requests_per_unit` differ in spelling only. */
function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const changed = above[column - 1] + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(changed, above[column] + 1, current[column - 1] + 1));
    }
    above = current;
  }
  return above[to.length];
}
