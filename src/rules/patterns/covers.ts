import type { Automaton } from './compile-pattern.ts';
import { ALWAYS, NEVER } from './dfa.ts';
import { Partition } from './partition.ts';

/** Maximum number of steps, each of which is a pair of states and a byte. They take about ten milliseconds. */
const MAX_STEPS = 200_000;

/**
 * Whether `wide` matches every text that `narrow` matches. If this is not known after many comparisons, it is taken for
 * false, because the answer is for a warning.
 */
export function covers(wide: Automaton, narrow: Automaton): boolean {
  const bytes = new Partition(256);
  bytes.refine(byte => wide.classOf[byte]);
  bytes.refine(byte => narrow.classOf[byte]);
  const examples = bytes.examples();
  const states = narrow.atEnd.length;
  const first = wide.start * states + narrow.start;
  const seen = new Set([first]);
  let steps = 0;
  // A set is visited in the order in which its members were added, also those that are added meanwhile.
  for (const pair of seen) {
    const ofWide = Math.floor(pair / states);
    const ofNarrow = pair % states;
    if (ofWide === ALWAYS || ofNarrow === NEVER) continue;
    // From every state but NEVER, and so from each state of `narrow` here, some text matches.
    if (ofWide === NEVER || ofNarrow === ALWAYS) return false;
    if (narrow.atEnd[ofNarrow] === 1 && wide.atEnd[ofWide] === 0) return false;
    steps += examples.length;
    if (steps > MAX_STEPS) return false;
    for (const byte of examples) {
      const nextOfWide = wide.next[ofWide * wide.width + wide.classOf[byte]];
      const nextOfNarrow = narrow.next[ofNarrow * narrow.width + narrow.classOf[byte]];
      seen.add(nextOfWide * states + nextOfNarrow);
    }
  }
  return true;
}
