import t from 'tap';
import { WordList } from '../../../../src/base/collections/word-list.ts';
import { automatonMatches } from '../../../../src/rules/patterns/automaton-matches.ts';
import { compilePattern } from '../../../../src/rules/patterns/compile-pattern.ts';
import { writeAutomaton } from '../../../../src/rules/patterns/write-automaton.ts';

/** An array that counts how often its elements are read. */
function counted<Elements extends Uint8Array | Int32Array>(
  elements: Elements,
): { elements: Elements; reads: () => number } {
  let reads = 0;
  const proxy = new Proxy(elements, {
    get(target, property) {
      reads++;
      return Reflect.get(target, property, target);
    },
  });
  return { elements: proxy, reads: () => reads };
}

/** The words of a pattern, the index of the first one, and how often they and the bytes were read for a text. */
function readsOf(pattern: string, text: Uint8Array): { matches: boolean; ofBytes: number; ofWords: number } {
  const list = new WordList();
  const at = writeAutomaton(compilePattern(pattern), list);
  const words = counted(list.view());
  const bytes = counted(text);
  const matches = automatonMatches(words.elements, at, bytes.elements, 0, text.length);
  return { matches, ofBytes: bytes.reads(), ofWords: words.reads() };
}

t.test(
  'a text takes one read of each byte and two reads of words for it, whatever the pattern is',
  async t => {
    const text = Buffer.alloc(100_000, 'a');
    for (const pattern of ['^(a*)*b', '(x+x+)+y', '^(a|aa)+$', '(a|a)*b', '(.*a){8}b', '^.*.*.*=.*b$']) {
      const { ofBytes, ofWords } = readsOf(pattern, text);
      t.ok(ofBytes <= text.length, pattern, { ofBytes });
      t.ok(ofWords <= 2 * text.length + 2, pattern, { ofWords });
    }
  },
);

t.test('reading stops where the answer is known', async t => {
  const path = Buffer.from(`/api/v1/${'x'.repeat(1_000)}`);
  t.same(
    readsOf('^/api/v[0-9]+/', path),
    { matches: true, ofBytes: 8, ofWords: 17 },
    'it matches in any case',
  );
  t.same(readsOf('^/web/', path), { matches: false, ofBytes: 2, ofWords: 5 }, 'nothing can match');
  t.same(readsOf('^[^]*$', path), { matches: true, ofBytes: 0, ofWords: 1 }, 'everything matches');
  t.same(readsOf('[]', path), { matches: false, ofBytes: 0, ofWords: 1 }, 'no text matches');
});

t.test('automata are written one behind the other, and work wherever their words are moved', async t => {
  const list = new WordList();
  const patterns = ['^a+$', 'b|^$', '[^]', '[]', '^[à-ÿ]{1,9}$'];
  const places = patterns.map(pattern => writeAutomaton(compilePattern(pattern), list));
  t.equal(places[0], 0);
  const moved = new Int32Array(new SharedArrayBuffer((list.length + 123) * 4));
  moved.set(list.view(), 123);
  for (const text of ['', 'a', 'aa', 'ab', 'é', 'éà', '\n']) {
    const bytes = Buffer.from(`<${text}>`);
    for (const [i, pattern] of patterns.entries()) {
      t.equal(
        automatonMatches(moved, 123 + places[i], bytes, 1, bytes.length - 1),
        new RegExp(pattern, 'u').test(text),
        `${pattern} on ${JSON.stringify(text)}`,
      );
    }
  }
});
