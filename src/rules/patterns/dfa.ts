/**
 * A deterministic automaton that tells whether a text matches. It reads symbols: those of a pattern, or classes of bytes.
 * The states {@link NEVER} and {@link ALWAYS} exist in each automaton and lead only to themselves.
 */
export interface Dfa {
  readonly start: number;
  /** Number of symbols. */
  readonly width: number;
  /** The state that follows `state` when it reads `symbol`: `next[state * width + symbol]`. */
  readonly next: Int32Array;
  /** By state: 1 if a text matches that ends in this state. */
  readonly atEnd: Uint8Array;
}

/** The state from which nothing can match any more. */
export const NEVER = 0;

/** The state of a text that matches, whatever follows. */
export const ALWAYS = 1;
