import { WordList } from '../../src/base/collections/word-list.ts';
import { automatonMatches } from '../../src/rules/patterns/automaton-matches.ts';
import {
  type Automaton,
  compilePattern,
  type PatternOptions,
} from '../../src/rules/patterns/compile-pattern.ts';
import { PatternFault } from '../../src/rules/patterns/pattern-fault.ts';
import { writeAutomaton } from '../../src/rules/patterns/write-automaton.ts';

/** Whether a text, or bytes, match. */
export type Match = (text: string | Uint8Array) => boolean;

/** Matches with an automaton that is written behind other words, as in compiled rules. */
export function matcherOf(automaton: Automaton): Match {
  const words = new WordList();
  words.allocate(7);
  const at = writeAutomaton(automaton, words);
  return text => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    // Bytes before and after the text must make no difference.
    const around = Buffer.concat([Buffer.from('a/'), bytes, Buffer.from('b/')]);
    return automatonMatches(words.words, at, around, 2, 2 + bytes.length);
  };
}

/** Matches with a pattern. */
export function patternMatch(pattern: string, options?: PatternOptions): Match {
  return matcherOf(compilePattern(pattern, options));
}

/** The fault for which a pattern is refused. */
export function faultOf(pattern: string): PatternFault {
  try {
    compilePattern(pattern);
  } catch (fault) {
    if (fault instanceof PatternFault) return fault;
    throw fault;
  }
  throw new Error(`${pattern} was accepted`);
}
