import t from 'tap';
import { faultOf, patternMatch } from '../../../support/patterns.ts';

t.test(
  'what cannot be matched in one reading of a text is refused, with its place and what to do',
  async t => {
    for (const [pattern, index, message] of [
      [
        '^/a(?=b)',
        3,
        '`(?=` at character 4 looks ahead, which takes more than one reading of a text: make it part of the pattern, or use another rule for these texts',
      ],
      ['a(?!b)', 1, '`(?!` at character 2 looks ahead, '],
      ['é😀(?<=b)c', 3, '`(?<=` at character 3 looks behind, '],
      ['(?<!b)c', 0, '`(?<!` at character 1 looks behind, '],
      [
        '(a)\\1',
        3,
        '`\\1` at character 4 refers to the text of an earlier group, which takes more than one reading of a text: write out the texts that may repeat',
      ],
      ['(?<x>a)\\k<x>', 7, '`\\k<x>` at character 8 refers to the text of an earlier group, '],
      [
        'a\\p{L}',
        1,
        '`\\p{L}` at character 2 tests a property of Unicode, which is not supported: list the characters in a class, such as `[a-zß-öø-ÿ]`',
      ],
      ['[^\\P{L}]', 2, '`\\P{L}` at character 3 tests a property of Unicode, '],
      [
        '(?m:^a)',
        0,
        '`(?m:` at character 1 changes what `^` and `$` match, which is always the start and the end of the text: remove the `m`',
      ],
      ['(?-m:^a)', 0, '`(?-m:` at character 1 changes what '],
      [
        'a\\ud800',
        1,
        '`\\ud800` at character 2 is half of a surrogate pair, which no text in UTF-8 contains: write the whole character, or leave it out',
      ],
      ['[a-\\udfff]', 3, '`\\udfff` at character 4 is half of a surrogate pair, '],
    ] as const) {
      const fault = faultOf(pattern);
      t.equal(fault.message.slice(0, message.length), message, pattern);
      t.equal(fault.index, index, pattern);
    }
  },
);

t.test('what is no regular expression is refused, with the place near the error and what to do', async t => {
  for (const [pattern, message] of [
    [
      'a**',
      'the pattern has nothing to repeat near character 3: write `\\*`, `\\+`, `\\?` or `\\{` for the character itself',
    ],
    ['a}', 'the pattern has a bracket without its counterpart near character 2: '],
    ['a{2', 'the pattern has an incomplete count near character 3: '],
    ['a{,3}', 'the pattern has an incomplete count near character 3: '],
    [
      'a{3,2}',
      'the pattern has a count whose maximum is below its minimum near character 6: exchange the numbers',
    ],
    [
      '(a',
      'the pattern has a group without its end near character 2: add `)`, or write `\\(` for the character itself',
    ],
    ['a)', 'the pattern has a `)` without its `(` near character 2: '],
    ['[a', 'the pattern has a class without its end near character 2: '],
    ['a\\_b', 'the pattern has an unknown escape near character 3: remove the backslash, '],
    ['\\Aa', 'the pattern has an unknown escape near character 2: '],
    ['a\\', 'the pattern has an unknown escape near character 2: '],
    [
      '(?i)a',
      'the pattern has an unknown kind of group near character 2: write `(…)`, `(?:…)` or, to ignore case, `(?i:…)`',
    ],
    ['(?P<x>a)', 'the pattern has an unknown kind of group near character 2: '],
    ['[b-a]', 'the pattern has a range that ends before it starts near character 5: '],
    [
      '[\\w-a]',
      'the pattern has a range to or from a class near character 6: write `\\-` for the minus sign itself',
    ],
    [
      '(?<a>x)(?<a>y)',
      'the pattern is not a regular expression (duplicate capture group name) near character 13: write it in the syntax of JavaScript',
    ],
  ] as const) {
    const fault = faultOf(pattern);
    t.equal(fault.message.slice(0, message.length), message, pattern);
    t.match(fault.index, Number);
  }
});

t.test('a pattern that is too long is refused before it is read', async t => {
  t.equal(
    faultOf('('.repeat(1_001)).message,
    'the pattern has 1001 characters; at most 1000 are accepted: use several rules',
  );
  t.ok(patternMatch(`^${'(?:'.repeat(240)}a${')'.repeat(240)}$`)('a'), 'deep groups are accepted');
});

const TOO_LARGE = /^the pattern needs too many states: use smaller counts/;

/** Patterns that would take seconds or gigabytes, and what bounds them. */
const HOSTILE = {
  '(a|b)*a(a|b){20}': 'a million states',
  '^(?:.*a){9}(?:.*b){9}.{20}c': 'states of many nodes',
  '(.{1000}){1000}': 'counts in counts',
  '(((){1000}){1000}){1000}': 'copies of nothing',
  'a{1000000000}': 'a count',
  'a{0,1000000000}': 'a maximum',
  '(?:a{1000}){2,}': 'copies of copies',
  '.{1000}': 'all starts at once',
  '^.{600}$': 'memory for the finished automaton',
  '^.{1000}$': 'characters of several bytes',
};

t.test('a pattern that would be too large is refused within milliseconds', async t => {
  for (const [pattern, what] of Object.entries(HOSTILE)) {
    const began = performance.now();
    t.match(faultOf(pattern).message, TOO_LARGE, what);
    // They take 5 to 60 ms, and seconds to hours without bounds.
    t.ok(performance.now() - began < 2_000, what, { ms: performance.now() - began });
  }
});

t.test('patterns with counts of usual sizes are accepted', async t => {
  const host = patternMatch('^[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){1,3}$');
  t.ok(host('www.example.com'));
  t.notOk(host(`${'a'.repeat(64)}.com`));
  const short = patternMatch('^.{1,200}$');
  t.ok(short('é'.repeat(200)));
  t.notOk(short('é'.repeat(201)));
  const uuid = patternMatch('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$');
  t.ok(uuid('0b5e3a1c-7d2f-4e6a-9b8c-1d2e3f4a5b6c'));
});
