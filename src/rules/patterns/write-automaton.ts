import type { WordList } from '../../base/collections/word-list.ts';
import { AUTOMATON } from './automaton-matches.ts';
import type { Automaton } from './compile-pattern.ts';
import { ALWAYS } from './dfa.ts';

/** Appends an automaton to the words, in the form of {@link AUTOMATON}. Returns the index of its first word. */
export function writeAutomaton(automaton: Automaton, words: WordList): number {
  const { start, width, next, atEnd, classOf } = automaton;
  const stride = 1 + width;
  const wordOf = (state: number): number =>
    state <= ALWAYS ? state : AUTOMATON.states + (state - ALWAYS - 1) * stride + 1;
  const at = words.allocate(AUTOMATON.states + (atEnd.length - ALWAYS - 1) * stride);
  const to = words.words;
  to[at + AUTOMATON.start] = wordOf(start);
  classOf.forEach((number, byte) => {
    to[at + AUTOMATON.classes + (byte >> 2)] |= number << ((byte & 3) << 3);
  });
  for (let state = ALWAYS + 1; state < atEnd.length; state++) {
    const row = at + wordOf(state);
    to[row - 1] = atEnd[state];
    for (let symbol = 0; symbol < width; symbol++) to[row + symbol] = wordOf(next[state * width + symbol]);
  }
  return at;
}
