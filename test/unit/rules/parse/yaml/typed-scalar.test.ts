import t from 'tap';
import { type TypedScalar, typedScalar } from '../../../../../src/rules/parse/yaml/yaml-node.ts';
import { words } from '../../../../support/words.ts';

function each(
  cases: readonly (readonly [string, TypedScalar])[],
  test: (text: string, value: TypedScalar) => void,
) {
  for (const [text, value] of cases) test(text, value);
}

t.test('the words of YAML 1.1 are booleans and nulls, in three spellings each', async t => {
  for (const word of ['y', 'yes', 'true', 'on']) {
    for (const spelling of [word, word[0].toUpperCase() + word.slice(1), word.toUpperCase()]) {
      t.equal(typedScalar(spelling), true, spelling);
    }
  }
  for (const word of ['n', 'no', 'false', 'off']) {
    for (const spelling of [word, word[0].toUpperCase() + word.slice(1), word.toUpperCase()]) {
      t.equal(typedScalar(spelling), false, spelling);
    }
  }
  for (const word of ['', '~', 'null', 'Null', 'NULL']) t.equal(typedScalar(word), null, word);
});

t.test('whole numbers are read in every base, with sign and underscores', async t => {
  each(
    [
      ['0', 0n],
      ['12', 12n],
      ['+12', 12n],
      ['-12', -12n],
      ['010', 8n],
      ['0o17', 15n],
      ['0x1F', 31n],
      ['-0x1f', -31n],
      ['0b101', 5n],
      ['1_000', 1000n],
      ['0_7', 7n],
      ['9223372036854775807', 2n ** 63n - 1n],
      ['-9223372036854775808', -(2n ** 63n)],
      ['18446744073709551615', 2n ** 64n - 1n],
      ['0xffffffffffffffff', 2n ** 64n - 1n],
    ],
    (text, value) => t.equal(typedScalar(text), value, text),
  );
});

t.test('other numbers, among them numbers with a leading zero that are not octal, are floats', async t => {
  each(
    [
      ['1.5', 1.5],
      ['1.', 1],
      ['.5', 0.5],
      ['1e3', 1000],
      ['-1E-3', -0.001],
      ['08', 8],
      ['-09', -9],
      ['18446744073709551616', 2 ** 64],
      ['-9223372036854775809', -(2 ** 63)],
      ['.inf', Infinity],
      ['-.INF', -Infinity],
      ['.NaN', Number.NaN],
    ],
    (text, value) => t.ok(Object.is(typedScalar(text), value), text),
  );
});

t.test('everything else is text', async t => {
  const texts = words(`a tRue yess nil - + . -x 1a 0x 0xg 0b2 1.2.3 1e _1`);
  const more = ['2020-01-01', '12:30', '1e999', '0x10000000000000000', '--1', '1 000', '.5_0', 'inf'];
  for (const text of [...texts, ...more]) t.equal(typedScalar(text), text, text);
});

t.test('a very long number costs no time worth mentioning and is text', async t => {
  const digits = '1'.repeat(1_000_000);
  t.equal(typedScalar(digits), digits);
});
