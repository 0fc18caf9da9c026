import t from 'tap';
import { MAX_FULL_YAML_TOKENS, MAX_YAML_DEPTH } from '../../../../../src/rules/parse/yaml/bounds.ts';
import { readFullYaml } from '../../../../../src/rules/parse/yaml/full-yaml.ts';
import type { YamlFault, YamlNode } from '../../../../../src/rules/parse/yaml/yaml-node.ts';

/** The tree as plain values: plain scalars between `<` and `>`, other text as it is, maps as lists of pairs. */
function plain(node: YamlNode): unknown {
  if (node.kind === 'scalar') return node.plain ? `<${node.text}>` : node.text;
  if (node.kind === 'list') return node.items.map(plain);
  return { map: node.pairs.map(pair => [pair.key, plain(pair.value)]) };
}

function read(text: string): unknown {
  const reading = readFullYaml(text, MAX_FULL_YAML_TOKENS);
  return reading?.root && plain(reading.root);
}

function faultOf(text: string): YamlFault | undefined {
  return readFullYaml(text, MAX_FULL_YAML_TOKENS)?.faults[0];
}

t.test('scalars of every style are read, and only plain ones are plain', async t => {
  const text = 'a: b\nc: "d"\ne: \'f\'\ng: |\n  h\n  i\nj: >-\n  k\n  l\nm: n\n  o\n';
  t.strictSame(read(text), {
    map: [
      ['a', '<b>'],
      ['c', 'd'],
      ['e', 'f'],
      ['g', 'h\ni\n'],
      ['j', 'k l'],
      ['m', '<n o>'],
    ],
  });
});

t.test('aliases stand for the node before them with that anchor', async t => {
  t.strictSame(read('a: &x {b: c}\nd: *x\ne: &x f\ng: *x'), {
    map: [
      ['a', { map: [['b', '<c>']] }],
      ['d', { map: [['b', '<c>']] }],
      ['e', '<f>'],
      ['g', '<f>'],
    ],
  });
});

t.test('a merge key adds its pairs at its place, of a list of maps the last one first', async t => {
  const text = '- &a {k: 1}\n- &b {k: 2, l: 2}\n- {m: 3, <<: *a}\n- {<<: [*a, *b]}\n';
  t.strictSame((read(text) as unknown[]).slice(2), [
    {
      map: [
        ['m', '<3>'],
        ['k', '<1>'],
      ],
    },
    {
      map: [
        ['k', '<2>'],
        ['l', '<2>'],
        ['k', '<1>'],
      ],
    },
  ]);
});

t.test('a tag can make text of a plain scalar and a plain scalar of text', async t => {
  t.strictSame(read('[!!str 5, !!int "5", ! yes, !own 1, !!seq [], !!map {}]'), [
    '5',
    '<5>',
    'yes',
    '1',
    [],
    { map: [] },
  ]);
});

t.test('tags that would change the value are refused', async t => {
  for (const text of ['a: !!binary aGk=', 'a: !!set {b}', 'a: !!omap [b: c]']) {
    t.match(faultOf(text)?.message, /^the tag "!!\w+" is not supported in rule files: remove it$/, text);
  }
});

t.test('a carriage return alone ends a line', async t => {
  t.strictSame(read('a: b\rc: d\r\ne: "f\r g"\r'), {
    map: [
      ['a', '<b>'],
      ['c', '<d>'],
      ['e', 'f g'],
    ],
  });
});

t.test('a value that is not what its tag says is refused', async t => {
  for (const text of [
    'a: !!int x',
    'a: !!int 1.5',
    'a: !!float x',
    'a: !!bool 1',
    'a: !!bool "x"',
    'a: !!null x',
  ]) {
    t.match(
      faultOf(text)?.message,
      /does not have the type of its tag: remove the tag, or fix the value$/,
      text,
    );
  }
  for (const text of ['a: !!int 0x1F', 'a: !!float 5', 'a: !!bool "yes"', 'a: !!null ~']) {
    t.equal(faultOf(text), undefined, text);
  }
});

t.test('only the first document counts, whatever follows', async t => {
  const first = { map: [['a', '<b>']] };
  for (const rest of ['---\nc: d', '---\n}', '...\n%', '...\n---\n"', '--- x']) {
    t.strictSame(read(`a: b\n${rest}`), first, JSON.stringify(rest));
  }
  t.strictSame(read('%YAML 1.1\n---\na: b\n---\n{'), first);
  t.equal(read('---\n---\na: b'), null, 'an empty first document');
  t.strictSame(read('- ---\n- |\n  ---\n'), ['<--->', '---\n'], 'text of three dashes');
});

t.test('a text that is not YAML gives the first fault, its place and advice', async t => {
  const cases: Record<string, readonly [number, RegExp]> = {
    "'''": [0, /the quote that opens here is never closed/],
    'a: b\nc: "d\ne: f\n': [8, /the quote that opens here is never closed/],
    'a: b: c': [3, /Nested mappings.*put quotes around text that holds `: `/],
    'a:\n\t- b': [3, /Tabs are not allowed as indentation: indent with spaces/],
    'a: *': [3, /Alias cannot be an empty string: put quotes around text that begins with `\*`/],
    'a: "\\q"': [4, /Invalid escape sequence.*write `\\\\` for a backslash/],
    'a: [b': [5, /must be sufficiently indented and end with a \]: .*check that every bracket is closed/],
    'a: @b': [3, /reserved character @.*: put quotes around/],
    'a: \x00b': [3, /the control character U\+0000 is not allowed/],
    'a: "\\ud800"': [3, /half of a surrogate pair/],
    'a: *b': [
      3,
      /^no anchor `&b` comes before this alias: define it, or write "\*b" in quotes for the text$/,
    ],
    'a: &b [*b]': [7, /^the alias `\*b` is inside its own anchor/],
    'a: &b 1\nc: &b [*b]': [15, /^the alias `\*b` is inside its own anchor/],
    'a: &b {<<: *b}': [11, /^the alias `\*b` is inside its own anchor/],
    'a: &b [{c: d}]\ne: {<<: *b}': [6, /^the merge key `<<` takes a map or a list of maps/],
    'a: {<<: ~}': [8, /^the merge key `<<` takes a map or a list of maps/],
    'a: {<<: [[]]}': [8, /^the merge key `<<` takes a map or a list of maps/],
    '? [a]\n: b': [2, /^a key must be text, not a list/],
    'a: {<<: b}': [8, /^the merge key `<<` takes a map or a list of maps/],
  };
  for (const [text, [offset, message]] of Object.entries(cases)) {
    const fault = faultOf(text);
    t.equal(fault?.offset, offset, JSON.stringify(text));
    t.match(fault?.message, message, JSON.stringify(text));
  }
});

t.test('nesting is bounded, also through aliases', async t => {
  const flow = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  t.equal(faultOf(flow(MAX_YAML_DEPTH)), undefined);
  for (const text of [
    flow(MAX_YAML_DEPTH + 2),
    '['.repeat(100_000),
    '- '.repeat(100_000),
    '? '.repeat(100_000),
  ]) {
    t.match(faultOf(text)?.message, /nested deeper than 600 levels/);
  }
  const chain = Array.from(
    { length: MAX_YAML_DEPTH / 10 + 1 },
    // Aliases alone would be refused as too large a share of the values.
    (_, i) => `- &a${i} [[[[[[[[[[${i === 0 ? '' : `*a${i - 1}`}]]]]]]]]]]`,
  );
  t.match(faultOf(chain.join('\n'))?.message, /^aliases nest deeper than 600 levels/);
});

t.test('a bomb of aliases or of merges is refused without being expanded', async t => {
  const bomb = (last: string): string =>
    ['- &a0 [x, x]', ...Array.from({ length: 30 }, (_, i) => `- &a${i + 1} [*a${i}, *a${i}]`), last].join(
      '\n',
    );
  t.match(faultOf(bomb(''))?.message, /^\d+ of the \d+ values up to here come from aliases/);
  const merges = [
    '- &a0 {x: 1}',
    ...Array.from({ length: 30 }, (_, i) => `- &a${i + 1} {<<: [*a${i}, *a${i}]}`),
  ];
  t.match(faultOf(merges.join('\n'))?.message, /^\d+ of the \d+ values up to here come from aliases/);
});

t.test('a text of too many tokens is not read at all', async t => {
  // A marker of the lexer, `[`, a marker and the text of `a`, `]` and a line end.
  t.ok(readFullYaml('[a]', 6));
  t.equal(readFullYaml('[a]', 5), null);
});
