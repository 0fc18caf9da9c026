import t from 'tap';
import { compilePattern } from '../../../../src/rules/patterns/compile-pattern.ts';
import { covers } from '../../../../src/rules/patterns/covers.ts';
import { PatternFault } from '../../../../src/rules/patterns/pattern-fault.ts';
import { matcherOf } from '../../../support/patterns.ts';
import { type RandomAlphabet, randomPattern } from '../../../support/random-patterns.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

function isCovered(wide: string, narrow: string): boolean {
  return covers(compilePattern(wide), compilePattern(narrow));
}

t.test('a pattern covers those that match only texts that it matches as well', async t => {
  for (const [wide, narrow] of [
    ['^/api/', '^/api/v[0-9]+/'],
    ['', 'a'],
    ['[^]', '^[^/]+$'],
    ['a|b', '^b'],
    ['^[a-z]+$', '^(abc|x)$'],
    ['^.*$', '^[0-9é]{3}$'],
    ['a', '[]'],
  ]) {
    t.ok(isCovered(wide, narrow), `${wide} covers ${narrow}`);
    t.notOk(isCovered(narrow, wide), `${narrow} does not cover ${wide}`);
  }
  t.ok(isCovered('^(a|b)*$', '^[ab]*$'), 'equal ones cover each other');
  t.notOk(isCovered('^.$', '^[^]$'), 'one does not match ends of lines');
  t.notOk(isCovered('^a{1,5}$', '^a{1,6}$'));
});

t.test('if this takes too long to find out, the answer is no', async t => {
  t.ok(isCovered('^(?:a{61})*$|b', '^(?:a{60})*b'));
  t.notOk(isCovered('^(?:a{601})*$|b', '^(?:a{600})*b'));
});

const ALPHABET: RandomAlphabet = {
  ones: ['a', 'b', '[ab]', '[^a]', '[^ab]'],
  characters: ['a', 'b', 'c', '-'],
};
const LENGTH = 6;

/** All texts of up to {@link LENGTH} characters. */
function allTexts(): Buffer[] {
  let texts = [''];
  const all = [...texts];
  for (let length = 1; length <= LENGTH; length++) {
    texts = texts.flatMap(text => ALPHABET.characters.map(character => text + character));
    all.push(...texts);
  }
  return all.map(text => Buffer.from(text));
}

t.test('a random pattern covers another one if no short text says otherwise', async t => {
  const random = new SeededRandom(23);
  const texts = allTexts();
  const known = [];
  while (known.length < 40) {
    const pattern = randomPattern(random, ALPHABET, 2);
    try {
      const automaton = compilePattern(pattern);
      // Automata with more states may tell only longer texts apart.
      if (automaton.atEnd.length > 5) continue;
      const match = matcherOf(automaton);
      known.push({ pattern, automaton, matched: texts.map(match) });
    } catch (fault) {
      if (!(fault instanceof PatternFault)) throw fault;
    }
  }
  const faults: string[] = [];
  let covered = 0;
  for (const wide of known) {
    for (const narrow of known) {
      const expected = narrow.matched.every((isMatch, i) => !isMatch || wide.matched[i]);
      if (covers(wide.automaton, narrow.automaton) !== expected)
        faults.push(`${wide.pattern} / ${narrow.pattern}`);
      if (expected) covered++;
    }
  }
  t.same(faults, []);
  t.ok(covered > 100 && covered < 1_500, 'some cover others, some do not', { covered });
});
