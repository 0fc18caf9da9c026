import { gramHash, LONGEST_GRAM } from './layout.ts';

/** A wildcard entry and the literals between its first and last `*`. */
export interface GramCandidate {
  readonly entry: number;
  readonly literals: readonly Uint8Array[];
}

/** The gram that indexes each wildcard of a level. */
interface ChosenGrams {
  readonly chosen: readonly { readonly entry: number; readonly hash: number }[];
  /** Bit `n` is set if a gram has `n` bytes. */
  readonly lengths: number;
}

/**
 * Chooses a gram for each wildcard of a level, in order: the gram that the fewest wildcards contain, so that a text is
 * compared with few of them. Of equally rare grams, the longest.
 */
export function chooseGrams(candidates: readonly GramCandidate[]): ChosenGrams {
  const uses = new Map<number, number>();
  for (const candidate of candidates) {
    for (const hash of new Set(gramsOf(candidate).map(gram => gram.hash)))
      uses.set(hash, (uses.get(hash) ?? 0) + 1);
  }
  let lengths = 0;
  const chosen = candidates.map(candidate => {
    let best = { hash: 0, length: 0 };
    for (const gram of gramsOf(candidate)) {
      const rarer = best.length === 0 ? 1 : (uses.get(best.hash) ?? 0) - (uses.get(gram.hash) ?? 0);
      if (rarer > 0 || (rarer === 0 && gram.length > best.length)) best = gram;
    }
    lengths |= 1 << best.length;
    return { entry: candidate.entry, hash: best.hash };
  });
  return { chosen, lengths };
}

/** All grams of the literals: {@link LONGEST_GRAM} bytes each, or a whole literal that is shorter. */
function gramsOf({ literals }: GramCandidate): { hash: number; length: number }[] {
  return literals.flatMap(literal => {
    const length = Math.min(literal.length, LONGEST_GRAM);
    const places = literal.length - length + 1;
    return Array.from({ length: places }, (_, at) => ({ hash: gramHash(literal, at, length), length }));
  });
}
