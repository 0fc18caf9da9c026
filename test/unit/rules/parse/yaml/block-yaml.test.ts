import t from 'tap';
import { readBlockYaml } from '../../../../../src/rules/parse/yaml/block-yaml.ts';
import { MAX_YAML_DEPTH } from '../../../../../src/rules/parse/yaml/bounds.ts';
import type { YamlNode } from '../../../../../src/rules/parse/yaml/yaml-node.ts';

/** The tree as plain values; scalars stay text. */
function plain(node: YamlNode): unknown {
  if (node.kind === 'scalar') return node.text;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.pairs.map(pair => [pair.key, plain(pair.value)]));
}

function read(text: string): unknown {
  const reading = readBlockYaml(text);
  return reading.known ? reading.root && plain(reading.root) : `stopped at ${reading.offset}`;
}

t.test('maps and lists are told by indentation; a list may stand in the column of its key', async t => {
  const text = 'a:\n  b: 1\n  c:\n  - d: x\n    e: y\n  -\n    f: z\ng:\n    - h\n    - i\n';
  t.strictSame(read(text), { a: { b: '1', c: [{ d: 'x', e: 'y' }, { f: 'z' }] }, g: ['h', 'i'] });
});

t.test('comments, blank lines, a document mark and the kind of line ends change nothing', async t => {
  t.strictSame(read('# c\n\n--- # c\n\n a: b # c\n # c\n\n c: d'), { a: 'b', c: 'd' });
  t.strictSame(read('a: b\r\nc:\r\n- d\r\n'), { a: 'b', c: ['d'] });
});

t.test('quotes keep what would end a plain scalar, and double ones know escapes', async t => {
  t.strictSame(read(`'a: b': "c # d" # e\nf: 'it''s'\n`), { 'a: b': 'c # d', f: "it's" });
  t.strictSame(read('a: "\\"\\\\\\/\\n\\t\\r\\0\\a\\b\\v\\f\\e\\ \\u00e9"'), {
    a: '"\\/\n\t\r\0\x07\b\v\f\x1b é',
  });
});

t.test('plain scalars keep colons, hashes and quotes that end nothing', async t => {
  t.strictSame(read('a: http://h#x\nb: x"y\'z\nc: -1\n'), { a: 'http://h#x', b: 'x"y\'z', c: '-1' });
});

t.test('flow collections of one line are read', async t => {
  t.strictSame(read('a: {b: 1, c: [x, "y,", {}], }\nd: []\ne:\n- {f: g}\n'), {
    a: { b: '1', c: ['x', 'y,', {}] },
    d: [],
    e: [{ f: 'g' }],
  });
});

t.test('a text without content has no root', async t => {
  for (const text of ['', '\n', '# c', '---\n', '  \n# c\n']) t.equal(read(text), null, JSON.stringify(text));
});

t.test('positions are those of the first character, and of the key for a value that is left out', async t => {
  const reading = readBlockYaml('a:\nbc: "d"\n');
  t.strictSame(reading, {
    known: true,
    root: {
      kind: 'map',
      offset: 0,
      pairs: [
        {
          key: 'a',
          keyPlain: true,
          keyOffset: 0,
          value: { kind: 'scalar', text: '', plain: true, offset: 0 },
        },
        {
          key: 'bc',
          keyPlain: true,
          keyOffset: 3,
          value: { kind: 'scalar', text: 'd', plain: false, offset: 7 },
        },
      ],
    },
  });
});

t.test('everything else is left to the complete reader, and the place is told', async t => {
  const cases: Record<string, number> = {
    'a: &x b': 3,
    'a: *x': 3,
    'a: !!str b': 3,
    'a: |\n  b': 3,
    'a: >\n  b': 3,
    'a: b\n  c': 7,
    'a: "b\n  c"': 5,
    "a: 'b": 5,
    'a: {b: c,\n  d: e}': 9,
    'a: {b}': 5,
    'a: [b: c]': 5,
    'a: [- b]': 4,
    'a: [-, b]': 4,
    'a: {<<: b}': 6,
    '<<: a': 2,
    '? a\n: b': 0,
    '- - a': 2,
    '-\n- a': 2,
    'a: b: c': 4,
    'a: b\n--- \nc: d': 5,
    'a: b\n...': 5,
    '%YAML 1.1\n---\na: b': 0,
    '\ta: b': 0,
    'a:\tb': 2,
    'a\n': 1,
    'a: b\n c: d': 6,
    ' a: b\nc: d': 6,
    'a: "\\x41"': 9,
    'a: "\\ud800"': 11,
    'a: \x07': 3,
    'a: b\rc: d': 4,
    'a: \u0085': 3,
    [`${'k'.repeat(1001)}: v`]: 1001,
  };
  for (const [text, offset] of Object.entries(cases))
    t.equal(read(text), `stopped at ${offset}`, JSON.stringify(text));
});

t.test('nesting is bounded', async t => {
  const nested = (levels: number): string =>
    Array.from(
      { length: levels },
      (_, level) => `${' '.repeat(level)}a:${level + 1 === levels ? ' b' : ''}\n`,
    ).join('');
  t.ok(readBlockYaml(nested(MAX_YAML_DEPTH)).known);
  t.notOk(readBlockYaml(nested(MAX_YAML_DEPTH + 1)).known);
  const flow = (levels: number): string => `a: ${'['.repeat(levels)}${']'.repeat(levels)}`;
  t.ok(readBlockYaml(flow(MAX_YAML_DEPTH - 1)).known);
  t.notOk(readBlockYaml(flow(MAX_YAML_DEPTH)).known);
});
