import { parseItem } from 'structured-headers';
import t from 'tap';
import { quotedPolicyName } from '../../../src/rules/policy-names.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** What a caller reads from a header field, and from the JSON body, which must be the same. */
function read(name: string): string {
  const quoted = quotedPolicyName(name);
  const [item] = parseItem(quoted);
  if (typeof item !== 'string' || item !== JSON.parse(quoted)) throw new Error(`two readings of ${quoted}`);
  return item;
}

const PIECES = [
  'user',
  '.',
  ' ',
  '"',
  '\\',
  '%',
  '%41',
  '%2',
  '\n',
  '\0',
  '~',
  'ß',
  '日本',
  '😀',
  'é\u0301',
  '\u007f',
];

/** A name of `least` to `least + 8` pieces. */
function randomName(random: SeededRandom, least: number): string {
  return Array.from({ length: least + random.below(9) }, () => random.pick(PIECES)).join('');
}

t.test('names of printable ASCII stay as they are, without percent signs', async t => {
  for (const name of ['shop.user', 'a "quoted" \\ name', ' ', 'x'.repeat(128)]) t.equal(read(name), name);
});

t.test('everything else is percent-encoded, and the percent sign as well', async t => {
  t.equal(read('Größe\n100%'), 'Gr%C3%B6%C3%9Fe%0A100%25');
  t.equal(read('50%41'), '50%2541', 'which is not the encoding of 50A');
});

t.test('a short name is read again by decoding it', async t => {
  const random = new SeededRandom(31);
  for (let i = 0; i < 500; i++) {
    const name = randomName(random, 1);
    if (encodeURIComponent(name).length <= 100) t.equal(decodeURIComponent(read(name)), name);
  }
});

t.test('long names are cut between characters, and remain different', async t => {
  const random = new SeededRandom(32);
  const names = Array.from({ length: 200 }, () => randomName(random, 129));
  for (const name of names) {
    const cut = read(name);
    t.match(cut, /^[ -~]{1,119}~[0-9a-f]{8}$/);
    t.ok(name.startsWith(decodeURIComponent(cut.slice(0, -9))), cut);
  }
  const siblings = names.flatMap(name => [`${name}.a`, `${name}.b`]);
  t.equal(new Set(siblings.map(read)).size, new Set(siblings).size);
});
