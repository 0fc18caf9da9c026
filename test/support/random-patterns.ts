import type { SeededRandom } from './seeded-random.ts';

/** What random patterns and texts consist of. */
export interface RandomAlphabet {
  /** Parts of patterns that match one character. */
  readonly ones: readonly string[];
  /** Characters of texts. */
  readonly characters: readonly string[];
}

export const ASCII_ALPHABET: RandomAlphabet = {
  ones: String.raw`a b / . \. [ab] [^a] [^/] \d \D \w \W \s \S [a-c0-5_-] \x41`.split(' '),
  characters: Array.from('abc/.07 \nA_-'),
};

export const UNICODE_ALPHABET: RandomAlphabet = {
  ones: String.raw`a é 日 😀 . [é-ü] [^é] [^a😀] \u{65e5} [\u{600}-\u{ffff}] \s \S \W [] [^]`.split(' '),
  characters: Array.from('abéè߿ࠀ日本\u2028\ufeff\uffff😀😁\u{10ffff}\n'),
};

const PLACES = ['^', '$', '\\b', '\\B'];
const COUNTS = '* + ? *? +? ?? {2} {1,2} {0,2} {2,} {1,3}? {0}'.split(' ');
const GROUPS = ['(', '(?:'];

/** A pattern of the whole grammar. */
export function randomPattern(random: SeededRandom, alphabet: RandomAlphabet, depth = 3): string {
  const options = Array.from({ length: random.below(5) === 0 ? 2 : 1 }, () =>
    Array.from({ length: random.below(4) + (depth === 3 ? 1 : 0) }, () => part(random, alphabet, depth)).join(
      '',
    ),
  );
  return options.join('|');
}

function part(random: SeededRandom, alphabet: RandomAlphabet, depth: number): string {
  if (random.below(8) === 0) return random.pick(PLACES);
  const one =
    depth > 0 && random.below(3) === 0
      ? `${random.pick(GROUPS)}${randomPattern(random, alphabet, depth - 1)})`
      : random.pick(alphabet.ones);
  return random.below(3) === 0 ? one + random.pick(COUNTS) : one;
}

/** A text of up to nine characters. */
export function randomText(random: SeededRandom, { characters }: RandomAlphabet): string {
  return Array.from({ length: random.below(10) }, () => random.pick(characters)).join('');
}
