import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { excerpt } from '../../base/printable.ts';
import { MAX_PATTERN_LENGTH } from './bounds.ts';
import {
  type CodePoints,
  codePoints,
  complement,
  DIGITS,
  LINE_ENDS,
  rangesOf,
  SPACES,
  WORD_CHARACTERS,
  withBothCases,
} from './code-points.ts';
import type { Expression } from './expression.ts';
import { PatternFault } from './pattern-fault.ts';
import { characterNumber, syntaxFault } from './syntax-faults.ts';

/** Which letters a part of a pattern means. A group such as `(?i:…)` changes it for its content. */
interface Reading {
  readonly pattern: string;
  /** Whether ASCII letters match in both cases. */
  readonly ignoreCase: boolean;
  /** Whether `.` also matches ends of lines. */
  readonly dotAll: boolean;
}

/**
 * Reads a pattern in the syntax of JavaScript with the flag `u`. The flag `v` would refuse `[^/]`, which patterns of
 * paths contain, and without a flag `\A` and a lone `{` would silently mean something else than in other languages.
 *
 * @throws PatternFault if the pattern is no regular expression, or contains what an automaton cannot match
 */
export function parsePattern(pattern: string, ignoreCase: boolean): Expression {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new PatternFault(
      `the pattern has ${pattern.length} characters; at most ${MAX_PATTERN_LENGTH} are accepted: use several rules`,
      0,
    );
  }
  return choice(parsed(pattern).alternatives, { pattern, ignoreCase, dotAll: false });
}

function parsed(pattern: string): AST.Pattern {
  try {
    return new RegExpParser({ ecmaVersion: 2025 }).parsePattern(pattern, 0, pattern.length, {
      unicode: true,
    });
  } catch (refused) {
    throw syntaxFault(pattern, refused);
  }
}

function choice(alternatives: readonly AST.Alternative[], reading: Reading): Expression {
  const options = alternatives.map(
    ({ elements }): Expression => ({
      kind: 'sequence',
      parts: elements.map(element => expression(element, reading)),
    }),
  );
  return options.length === 1 ? options[0] : { kind: 'choice', options };
}

function expression(element: AST.Element, reading: Reading): Expression {
  switch (element.type) {
    case 'Character':
    case 'CharacterSet':
    case 'CharacterClass':
      return { kind: 'one', of: setOf(element, reading) };
    case 'CapturingGroup':
      return choice(element.alternatives, reading);
    case 'Group':
      return choice(element.alternatives, insideGroup(element, reading));
    case 'Quantifier': {
      const part = expression(element.element, reading);
      return { kind: 'repeat', part, least: element.min, most: element.max };
    }
    case 'Assertion':
      return assertion(element, reading);
    case 'Backreference':
      throw refusal(
        reading,
        element,
        'refers to the text of an earlier group, which takes more than one reading of a text',
        'write out the texts that may repeat',
      );
    default:
      throw unsupported(reading, element);
  }
}

function assertion(element: AST.Assertion, reading: Reading): Expression {
  switch (element.kind) {
    case 'start':
    case 'end':
      return { kind: 'place', place: element.kind };
    case 'word':
      return { kind: 'place', place: element.negate ? 'no boundary' : 'boundary' };
    default:
      throw refusal(
        reading,
        element,
        `looks ${element.kind === 'lookahead' ? 'ahead' : 'behind'}, which takes more than one reading of a text`,
        'make it part of the pattern, or use another rule for these texts',
      );
  }
}

/** The reading inside a group, whose modifiers may change it. */
function insideGroup(group: AST.Group, reading: Reading): Reading {
  if (group.modifiers === null) return reading;
  const { add, remove } = group.modifiers;
  if (add.multiline || remove?.multiline) {
    throw refusal(
      reading,
      group,
      'changes what `^` and `$` match, which is always the start and the end of the text',
      'remove the `m`',
    );
  }
  return {
    pattern: reading.pattern,
    ignoreCase: add.ignoreCase || (reading.ignoreCase && !remove?.ignoreCase),
    dotAll: add.dotAll || (reading.dotAll && !remove?.dotAll),
  };
}

/** The code points that one element matches. */
function setOf(element: AST.Character | AST.CharacterSet | AST.CharacterClass, reading: Reading): CodePoints {
  switch (element.type) {
    case 'Character': {
      const character = characterOf(element, reading);
      return cased([character, character], reading);
    }
    case 'CharacterSet':
      return namedSet(element, reading);
    case 'CharacterClass': {
      const members = cased(
        codePoints(element.elements.flatMap(member => memberRanges(member, reading))),
        reading,
      );
      return element.negate ? complement(members) : members;
    }
  }
}

function memberRanges(
  member: AST.CharacterClass['elements'][number],
  reading: Reading,
): [first: number, last: number][] {
  switch (member.type) {
    case 'Character':
    case 'CharacterSet':
      return rangesOf(setOf(member, reading));
    case 'CharacterClassRange':
      return [[characterOf(member.min, reading), characterOf(member.max, reading)]];
    default:
      throw unsupported(reading, member);
  }
}

function characterOf(character: AST.Character, reading: Reading): number {
  if (character.value >= 0xd800 && character.value <= 0xdfff) {
    throw refusal(
      reading,
      character,
      'is half of a surrogate pair, which no text in UTF-8 contains',
      'write the whole character, or leave it out',
    );
  }
  return character.value;
}

/** `.`, `\d`, `\s`, `\w` and their opposites. */
function namedSet(element: AST.CharacterSet, reading: Reading): CodePoints {
  switch (element.kind) {
    case 'any':
      return complement(reading.dotAll ? [] : LINE_ENDS);
    case 'digit':
      return element.negate ? complement(DIGITS) : DIGITS;
    case 'space':
      return element.negate ? complement(SPACES) : SPACES;
    case 'word':
      return element.negate ? complement(WORD_CHARACTERS) : WORD_CHARACTERS;
    default:
      throw refusal(
        reading,
        element,
        'tests a property of Unicode, which is not supported',
        'list the characters in a class, such as `[a-zß-öø-ÿ]`',
      );
  }
}

function cased(set: CodePoints, reading: Reading): CodePoints {
  return reading.ignoreCase ? withBothCases(set) : set;
}

function unsupported(reading: Reading, node: AST.Node): PatternFault {
  return refusal(reading, node, 'is not supported', 'write it in another way');
}

function refusal(reading: Reading, node: AST.Node, why: string, advice: string): PatternFault {
  // Of a group, only its beginning: its content may be long, and is not what is wrong.
  const [shown] = /^\(\?(?:<?[=!]|[a-z-]*:)|^.*/s.exec(node.raw) as RegExpExecArray;
  const where = `at character ${characterNumber(reading.pattern, node.start)}`;
  return new PatternFault(`\`${excerpt(shown)}\` ${where} ${why}: ${advice}`, node.start);
}
