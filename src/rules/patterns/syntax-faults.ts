import { RegExpSyntaxError } from '@eslint-community/regexpp';
import { PatternFault } from './pattern-fault.ts';

const ESCAPES =
  'remove the backslash, which only stands before letters such as `\\d` and before `^$\\.*+?()[]{}|/`';

/** What the parser says about a pattern, what Sluice says instead, and what to do. */
const FAULTS: Readonly<Record<string, readonly [what: string, advice: string]>> = {
  'Nothing to repeat': [
    'has nothing to repeat',
    'write `\\*`, `\\+`, `\\?` or `\\{` for the character itself',
  ],
  'Lone quantifier brackets': [
    'has a bracket without its counterpart',
    'write `\\{`, `\\}` or `\\]` for the character itself',
  ],
  'Incomplete quantifier': [
    'has an incomplete count',
    'write `{2}`, `{2,}` or `{2,5}` for a count, or `\\{` for the character itself',
  ],
  'Unterminated group': ['has a group without its end', 'add `)`, or write `\\(` for the character itself'],
  "Unmatched ')'": ['has a `)` without its `(`', 'remove it, or write `\\)` for the character itself'],
  'Unterminated character class': [
    'has a class without its end',
    'add `]`, or write `\\[` for the character itself',
  ],
  'Invalid escape': ['has an unknown escape', ESCAPES],
  'Invalid group': ['has an unknown kind of group', 'write `(…)`, `(?:…)` or, to ignore case, `(?i:…)`'],
  'Range out of order in character class': [
    'has a range that ends before it starts',
    'exchange the ends of the range',
  ],
  'Invalid character class': ['has a range to or from a class', 'write `\\-` for the minus sign itself'],
  'numbers out of order in {} quantifier': [
    'has a count whose maximum is below its minimum',
    'exchange the numbers',
  ],
};

/** Position in a pattern as people count: from 1, in characters. */
export function characterNumber(pattern: string, index: number): number {
  return Array.from(pattern.slice(0, index)).length + 1;
}

/** The fault of what the parser threw. Anything but a syntax error is thrown again. */
export function syntaxFault(pattern: string, thrown: unknown): PatternFault {
  if (!(thrown instanceof RegExpSyntaxError)) throw thrown;
  const said = thrown.message.slice(thrown.message.lastIndexOf(': ') + 2);
  const index = Math.min(thrown.index, Math.max(pattern.length - 1, 0));
  const [what, advice] = FAULTS[said] ?? [
    `is not a regular expression (${said.toLowerCase()})`,
    'write it in the syntax of JavaScript',
  ];
  return new PatternFault(
    `the pattern ${what} near character ${characterNumber(pattern, index)}: ${advice}`,
    index,
  );
}
