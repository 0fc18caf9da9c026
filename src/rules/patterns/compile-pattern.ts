import { MAX_FINAL_TRANSITIONS } from './bounds.ts';
import { overBytes } from './byte-states.ts';
import type { Dfa } from './dfa.ts';
import { minimized } from './minimize.ts';
import { nfaOf } from './nfa.ts';
import { parsePattern } from './parse-pattern.ts';
import type { Partition } from './partition.ts';
import { tooLarge } from './pattern-fault.ts';
import { dfaOf } from './subsets.ts';
import { Symbols } from './symbols.ts';

/** A pattern that is ready to be matched: an automaton whose symbols are classes of bytes. */
export interface Automaton extends Dfa {
  /** By byte: its class. */
  readonly classOf: Uint8Array;
}

/** How a pattern is read. */
export interface PatternOptions {
  /** Whether ASCII letters match in both cases. Other letters match only as they are written. Default: false. */
  readonly ignoreCase?: boolean;
}

/**
 * Compiles a pattern. It matches a text if it matches a part of it, as `RegExp.test` does with the flag `u`: `^` and `$`
 * are the start and the end of the text, and `.` matches any character except for ends of lines.
 *
 * Texts are UTF-8. A byte that is not part of well-formed UTF-8 is matched by `.` and by negated classes, such as `[^a]`
 * and `\D`, as one character.
 *
 * @throws PatternFault if the pattern is not a regular expression, contains what cannot be matched in linear time, or
 *   would be too large
 */
export function compilePattern(pattern: string, options: PatternOptions = {}): Automaton {
  const nfa = nfaOf(parsePattern(pattern, options.ignoreCase ?? false));
  const symbols = new Symbols(nfa.sets);
  const { dfa, bytes } = overBytes(minimized(dfaOf(nfa, symbols)), symbols);
  const automaton = withFewestClasses(minimized(dfa), bytes);
  if (automaton.next.length > MAX_FINAL_TRANSITIONS) throw tooLarge();
  return automaton;
}

/** Merges classes of bytes that lead to the same states everywhere. */
function withFewestClasses({ start, width, next, atEnd }: Dfa, bytes: Partition): Automaton {
  const isSame = (one: number, other: number): boolean => {
    for (let row = 0; row < next.length; row += width)
      if (next[row + one] !== next[row + other]) return false;
    return true;
  };
  /** One of the old classes for each new one. */
  const examples: number[] = [];
  const merged = Array.from({ length: width }, (_, symbol) => {
    const known = examples.findIndex(example => isSame(example, symbol));
    return known < 0 ? examples.push(symbol) - 1 : known;
  });
  const fewer = new Int32Array(atEnd.length * examples.length);
  for (let state = 0, to = 0; state < atEnd.length; state++) {
    for (const example of examples) fewer[to++] = next[state * width + example];
  }
  const classOf = Uint8Array.from(bytes.classOf, symbol => merged[symbol]);
  return { start, width: examples.length, next: fewer, atEnd, classOf };
}
