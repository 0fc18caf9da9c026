import { ALWAYS } from './dfa.ts';

/**
 * An automaton in words. A state is the offset of its row from the first word of the automaton, so the words can be moved.
 *
 *     start     the state before the first byte
 *     classes   the classes of the 256 bytes, four in a word, the lowest bits first
 *     states    of each state: 1 if a text matches that ends in it, then its row: the next state by class
 *
 * The states `NEVER` and `ALWAYS` have no rows: reading stops there.
 */
export const AUTOMATON = { start: 0, classes: 1, states: 65 } as const;

/**
 * Whether `bytes[start, end)` match an automaton. Reads each byte at most once, and stops where the answer is known.
 *
 * Each row depends on the one before, so the time for a byte is that of this chain. `| 0` removes the checks for overflow
 * from it, which would take a third of the time.
 *
 * @param at the index of the first word of the automaton
 */
export function automatonMatches(
  words: Int32Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const classes = (at + AUTOMATON.classes) | 0;
  let state = words[at + AUTOMATON.start] | 0;
  if (state <= ALWAYS) return state === ALWAYS;
  for (let i = start | 0; i < end; i = (i + 1) | 0) {
    const byte = bytes[i] | 0;
    const byteClass = (words[(classes + (byte >> 2)) | 0] >>> ((byte & 3) << 3)) & 0xff;
    state = words[(((at + byteClass) | 0) + state) | 0] | 0;
    if (state <= ALWAYS) return state === ALWAYS;
  }
  return words[at + state - 1] === 1;
}
