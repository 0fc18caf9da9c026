import t, { type Test } from 'tap';
import { quote } from '../../../../src/base/printable.ts';
import { compilePattern } from '../../../../src/rules/patterns/compile-pattern.ts';
import { matcherOf, patternMatch } from '../../../support/patterns.ts';

interface Example {
  readonly pattern: string;
  readonly matches: readonly string[];
  readonly others: readonly string[];
}

/** Checks examples, and that `RegExp` says the same about them. */
function check(t: Test, examples: readonly Example[]): void {
  for (const { pattern, matches, others } of examples) {
    const match = patternMatch(pattern);
    const expected = new RegExp(pattern, 'u');
    for (const text of [...matches, ...others]) {
      t.equal(match(text), matches.includes(text), `${pattern} on ${quote(text)}`);
      t.equal(expected.test(text), matches.includes(text), `RegExp says the same about ${quote(text)}`);
    }
  }
}

t.test('a pattern is searched for, unless it is bound to the start or the end', async t => {
  check(t, [
    { pattern: 'api', matches: ['api', '/v1/api/users'], others: ['', 'ap', 'aip'] },
    {
      pattern: '^/api/v[0-9]+/',
      matches: ['/api/v1/', '/api/v12/users'],
      others: ['/api/v/', 'x/api/v1/', '/api/v1'],
    },
    { pattern: '\\.png$', matches: ['a.png', '.png'], others: ['a.png?', 'apng'] },
    { pattern: '^$', matches: [''], others: ['a', '\n'] },
    { pattern: '', matches: ['', 'a'], others: [] },
    { pattern: 'a$|^b|^$', matches: ['', 'xa', 'bx'], others: ['ax', 'xb', 'c'] },
    { pattern: '(^|/)admin(/|$)', matches: ['admin', '/admin', 'x/admin/y'], others: ['admins', 'xadmin'] },
    { pattern: '(?:^a|b)+$', matches: ['a', 'ab', 'xb', 'bb'], others: ['aa', 'xa', ''] },
    { pattern: 'a^b|a$b', matches: [], others: ['ab', 'a\nb', 'a'] },
    { pattern: '(?:^)+$', matches: [''], others: ['a'] },
  ]);
});

t.test('alternatives, groups and counts match as written, and lazy counts like others', async t => {
  check(t, [
    {
      pattern: '^(GET|POST) (?<path>/.*)$',
      matches: ['GET /', 'POST /a b'],
      others: ['PUT /', 'GET', 'GETPOST /'],
    },
    { pattern: '^a{2,3}$', matches: ['aa', 'aaa'], others: ['a', 'aaaa'] },
    { pattern: '^a{2,}?b$', matches: ['aab', 'aaaaab'], others: ['ab', 'aa'] },
    { pattern: '^(ab?){2}$', matches: ['aa', 'aba', 'abab'], others: ['ab', 'aaa'] },
    { pattern: '^(?:)*x{0}$', matches: [''], others: ['x'] },
    { pattern: '^(a*)*b$', matches: ['b', 'aaab'], others: ['a', 'aaa'] },
    { pattern: '^(|a)+$', matches: ['', 'aaa'], others: ['b'] },
  ]);
});

t.test('classes and escapes match characters, and complements match the others', async t => {
  check(t, [
    { pattern: '^[a-f0-9_-]+$', matches: ['deadbeef-42_'], others: ['g', 'é', ''] },
    { pattern: '^[^/]+$', matches: ['a', 'é日😀', '\n'], others: ['a/b', ''] },
    { pattern: '^\\d\\w\\s$', matches: ['7_ ', '0a\u2003', '1Z\ufeff'], others: ['a7 ', '1é ', '1a'] },
    { pattern: '^[\\D]\\W\\S$', matches: ['é日x', 'a-😀'], others: ['1-x', 'aax', 'a- '] },
    {
      pattern: '^.$',
      matches: ['a', 'é', '日', '😀', ' '],
      others: ['\n', '\r', '\u2028', '\u2029', 'ab', ''],
    },
    { pattern: '^[]$', matches: [], others: ['', 'a'] },
    { pattern: '^[^]$', matches: ['\n', '😀'], others: ['', 'aa'] },
    { pattern: '^\\x41\\u0042\\u{43}\\cJ\\t\\0[\\b]$', matches: ['ABC\n\t\0\b'], others: ['ABC'] },
    { pattern: '^\\/\\.\\$\\^\\{$', matches: ['/.$^{'], others: ['/a$^{'] },
  ]);
});

t.test('named classes contain the same characters as those of RegExp', async t => {
  for (const pattern of ['^\\d$', '^\\w$', '^\\s$', '^\\S$', '^.$', '\\b']) {
    const match = patternMatch(pattern);
    const expected = new RegExp(pattern, 'u');
    const differences = [];
    for (let codePoint = 0; codePoint < 0x11000; codePoint++) {
      if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
      const text = String.fromCodePoint(codePoint);
      if (match(text) !== expected.test(text)) differences.push(codePoint.toString(16));
    }
    t.same(differences, [], pattern);
  }
});

t.test('characters beyond ASCII match as whole characters', async t => {
  check(t, [
    { pattern: '^é?ü{2}$', matches: ['üü', 'éüü'], others: ['é', 'ü', 'éü'] },
    { pattern: '^[à-ÿ]$', matches: ['à', 'é', 'ÿ'], others: ['ß', 'Ā', 'a'] },
    { pattern: '[^é]', matches: ['è', 'éa'], others: ['é', 'éé', ''] },
    {
      pattern: '^[\\u{7ff}-\\u{10000}]$',
      matches: ['߿', 'ࠀ', '\uffff', '\u{10000}'],
      others: ['߾', '\u{10001}'],
    },
    { pattern: '^[😀-😂]$', matches: ['😀', '😁', '😂'], others: ['😃', '\u{1f5ff}'] },
  ]);
});

t.test('long texts and large classes of such characters have few states', async t => {
  const characters = Array.from({ length: 300 }, (_, i) => String.fromCodePoint(0x4e00 + i * 61));
  const text = compilePattern(characters.join(''));
  t.equal(text.atEnd.length, 3 * 300 + 2, 'one for each byte, and those that every automaton has');
  t.ok(matcherOf(text)(`x${characters.join('')}x`));
  const match = patternMatch(`^[^${characters.join('')}]$`);
  t.same(characters.filter(match), []);
  t.ok(match('\u4e01'));
});

t.test('a boundary is where a word of ASCII characters starts or ends', async t => {
  check(t, [
    { pattern: '\\bbot\\b', matches: ['bot', 'a bot.', 'ébot'], others: ['bots', 'robot', 'bot_1'] },
    { pattern: '\\Bbot', matches: ['robot', 'a_bot'], others: ['bot', '-bot'] },
    { pattern: 'bot\\B.', matches: ['bots'], others: ['bot', 'bot.'] },
    { pattern: '^\\b$|^\\B$', matches: [''], others: ['a'] },
    { pattern: '^a\\b\\B', matches: [], others: ['a', 'ab', 'a-'] },
  ]);
});

t.test(
  'ASCII letters match in both cases if case is ignored, and other letters as they are written',
  async t => {
    const match = patternMatch('^[a-c]x[^q]é$', { ignoreCase: true });
    for (const text of ['axzé', 'BXZé', 'CxÉé']) t.ok(match(text), text);
    for (const text of ['dxzé', 'axQé', 'axqé', 'axzÉ']) t.notOk(match(text), text);
    t.notOk(patternMatch('k', { ignoreCase: true })('\u212a'), 'the sign of kelvin is no letter k');
  },
);

t.test('a group changes for its content whether case is ignored and what a dot matches', async t => {
  const match = patternMatch('^a(?i:b(?-i:c))d$');
  for (const text of ['abcd', 'aBcd']) t.ok(match(text), text);
  for (const text of ['Abcd', 'abCd', 'abcD']) t.notOk(match(text), text);
  t.ok(patternMatch('^(?s:.)$')('\n'));
  t.notOk(patternMatch('^(?s:(?-s:.))$')('\n'));
});

t.test(
  'a byte that is not part of well-formed UTF-8 is matched by a dot and by complements only',
  async t => {
    const stray = Buffer.from([0xe6, 0x97]);
    for (const pattern of ['^..$', '^[^a]{2}$', '^\\D\\W$', '^\\S[^é]$'])
      t.ok(patternMatch(pattern)(stray), pattern);
    for (const pattern of ['^.$', '[\\u{0}-\\u{10ffff}]', '\\w|\\d|\\s', '日'])
      t.notOk(patternMatch(pattern)(stray), pattern);
    t.notOk(
      patternMatch('^.$')(Buffer.from([0xed, 0xa0, 0x80])),
      'half of a surrogate pair is three such bytes',
    );
    t.notOk(patternMatch('[^é]')('é'), 'the bytes of a character are not matched one by one');
  },
);

t.test('equal patterns in other words have the same states', async t => {
  for (const [one, other] of [
    ['^(a|b|c)*$', '^[a-c]*?$'],
    ['^[^]*x', 'x'],
    ['^a|^b', '^[ab]'],
    ['^[^]*$', ''],
    ['a[]', '[]'],
    ['(?:abc|abd|abe)', 'ab[cde]'],
  ]) {
    t.same(compilePattern(one), compilePattern(other), `${one} and ${other}`);
  }
});
