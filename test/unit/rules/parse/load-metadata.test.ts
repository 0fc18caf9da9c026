import t from 'tap';
import { words } from '../../../support/words.ts';
import { entryFile, loadEntry, refusal } from './rule-text.ts';

/** The metadata of an entry; `lines` are indented below `metadata:`. */
function metadata(lines: string): unknown {
  return loadEntry(`key: k\nmetadata:\n  ${lines.replaceAll('\n', '\n  ')}`).metadata;
}

t.test('metadata is JSON with the types of YAML 1.1', async t => {
  t.strictSame(
    metadata(
      'text: a\nquoted: "1"\nint: 010\nfloat: 1.5\nodd: 08\nhuge: 18446744073709551616\nyes: off\nnothing: ~\nempty:\n' +
        'date: 2020-01-01\nlist: [1, [x], {w: z}]\nmap: {a: {b: c}}',
    ),
    {
      text: 'a',
      quoted: '1',
      int: 8,
      float: 1.5,
      odd: 8,
      huge: 2 ** 64,
      yes: false,
      nothing: null,
      empty: null,
      date: '2020-01-01',
      list: [1, ['x'], { w: 'z' }],
      map: { a: { b: 'c' } },
    },
  );
});

t.test('keys at the top keep their source text but for null, and the last of equal keys counts', async t => {
  t.strictSame(metadata('1.5: a\ntrue: b\n~: c\n0x10: d\ndup: 1\ndup: 2'), {
    '1.5': 'a',
    true: 'b',
    '': 'c',
    '0x10': 'd',
    dup: 2,
  });
});

t.test('keys below are the text of their type, as the reference implementation prints it', async t => {
  const keys =
    'yes ~ 010 0x1F 1_000 1.5 1e5 1e6 1234567.0 0.0001 0.00001 -0.0 .inf -.inf .nan 2020-01-01 12345678901234567890';
  const lines = keys.split(' ').map(key => `{${key}: x}`);
  t.strictSame(metadata(`m: [${lines.join(', ')}, {"010": x}]`), {
    m: [
      ...words(`true <nil> 8 31 1000 1.5 100000 1e+06 1.234567e+06 0.0001 1e-05 -0`),
      ...['+Inf', '-Inf', 'NaN', '2020-01-01', '12345678901234567890', '010'],
    ].map(key => ({ [key]: 'x' })),
  });
});

t.test('a key named __proto__ is a key like any other', async t => {
  const value = metadata('__proto__: {polluted: yes}\na: b') as Record<string, unknown>;
  t.strictSame(Object.keys(value), ['__proto__', 'a']);
  t.equal(value['polluted'], undefined);
  t.equal(Object.getPrototypeOf(value), Object.prototype);
});

t.test('metadata that is empty or null is none', async t => {
  for (const text of ['', '~', '{}']) t.equal(loadEntry(`key: k\nmetadata: ${text}`).metadata, null, text);
});

t.test('numbers that JSON does not have are refused', async t => {
  for (const text of ['.inf', '-.INF', '.nan']) {
    t.equal(
      refusal(entryFile(`key: k\nmetadata:\n  a: [${text}]`)),
      `rules.yaml:5:11: d.k: JSON has no number ${text}: for text write "${text}", with the quotes`,
    );
  }
});

t.test('a long text of several lines is kept', async t => {
  t.strictSame(metadata('note: |\n  one\n  two\nfolded: >-\n  a\n  b'), {
    note: 'one\ntwo\n',
    folded: 'a b',
  });
});
