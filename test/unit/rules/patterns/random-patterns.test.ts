import t from 'tap';
import { compilePattern } from '../../../../src/rules/patterns/compile-pattern.ts';
import { PatternFault } from '../../../../src/rules/patterns/pattern-fault.ts';
import { matcherOf } from '../../../support/patterns.ts';
import {
  ASCII_ALPHABET,
  type RandomAlphabet,
  randomPattern,
  randomText,
  UNICODE_ALPHABET,
} from '../../../support/random-patterns.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const PATTERNS = 400;
const TEXTS = 25;

/** Random patterns that were not too large. */
function* patterns(random: SeededRandom, alphabet: RandomAlphabet, ignoreCase = false) {
  for (let i = 0; i < PATTERNS; i++) {
    const pattern = randomPattern(random, alphabet);
    try {
      yield { pattern, match: matcherOf(compilePattern(pattern, { ignoreCase })) };
    } catch (fault) {
      if (!(fault instanceof PatternFault)) throw fault;
    }
  }
}

/** Compares each pattern with `RegExp` on some texts. Returns the number of comparisons, and the differences. */
function compared(seed: number, alphabet: RandomAlphabet, ignoreCase = false) {
  const random = new SeededRandom(seed);
  const differences: string[] = [];
  let comparisons = 0;
  let matches = 0;
  for (const { pattern, match } of patterns(random, alphabet, ignoreCase)) {
    const expected = new RegExp(pattern, ignoreCase ? 'iu' : 'u');
    for (let i = 0; i < TEXTS; i++) {
      const text = randomText(random, alphabet);
      const isMatch = expected.test(text);
      comparisons++;
      if (isMatch) matches++;
      if (match(text) !== isMatch)
        differences.push(`/${pattern}/ on ${JSON.stringify(text)}: not ${isMatch}`);
    }
  }
  return { comparisons, share: matches / comparisons, differences };
}

t.test('random patterns match random texts as RegExp does', async t => {
  for (const [name, alphabet] of Object.entries({ ASCII: ASCII_ALPHABET, Unicode: UNICODE_ALPHABET })) {
    const { comparisons, share, differences } = compared(17, alphabet);
    t.same(differences.slice(0, 10), [], name);
    t.ok(comparisons > 0.95 * PATTERNS * TEXTS, 'hardly any pattern was too large', { comparisons });
    t.ok(share > 0.2 && share < 0.8, 'texts match and do not match', { share });
  }
});

t.test('without regard to case, random patterns match ASCII as RegExp does', async t => {
  t.same(compared(18, ASCII_ALPHABET, true).differences.slice(0, 10), []);
});

/** No pattern contains this character, so it takes the place of a stray byte. */
const STRAY = '\u{f0000}';

/** The text of bytes: well-formed characters, and {@link STRAY} for each byte that is not part of one. */
function textOf(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find(length => at + length <= bytes.length && isCharacter(bytes, at, length));
    text += length === undefined ? STRAY : Buffer.from(bytes.subarray(at, at + length)).toString();
    at += length ?? 1;
  }
  return text;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function isCharacter(bytes: Uint8Array, at: number, length: number): boolean {
  try {
    return Array.from(decoder.decode(bytes.subarray(at, at + length))).length === 1;
  } catch {
    return false;
  }
}

const BROKEN = '80 bf c0af c3 e0 e080af e697 eda080 edbfbf f0 f09f f09f98 f0808080 f4908080 f5 ff'.split(' ');

t.test('each byte that is not part of well-formed UTF-8 is one character', async t => {
  const random = new SeededRandom(19);
  const differences: string[] = [];
  let strays = 0;
  for (const { pattern, match } of patterns(random, UNICODE_ALPHABET)) {
    // Positive classes that would contain the character in the place of stray bytes are not in the alphabet.
    const expected = new RegExp(pattern, 'u');
    for (let i = 0; i < TEXTS; i++) {
      const pieces = Array.from({ length: random.below(6) }, () =>
        random.below(2) === 0
          ? Buffer.from(random.pick(BROKEN), 'hex')
          : Buffer.from(random.pick(UNICODE_ALPHABET.characters)).subarray(0, 1 + random.below(4)),
      );
      const bytes = Buffer.concat(pieces);
      const text = textOf(bytes);
      if (text.includes(STRAY)) strays++;
      if (match(bytes) !== expected.test(text)) differences.push(`/${pattern}/ on ${bytes.toString('hex')}`);
    }
  }
  t.same(differences.slice(0, 10), []);
  t.ok(strays > 0.5 * PATTERNS * TEXTS, 'many texts are not well-formed', { strays });
});
