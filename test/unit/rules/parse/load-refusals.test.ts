import t from 'tap';
import { entryFile, faultsOf, refusal } from './rule-text.ts';

t.test('a fault names file, line, column and the path of its entry', async t => {
  t.strictSame(
    faultsOf({
      'a.yaml':
        'domain: shop\ndescriptors:\n  - key: region\n    value: eu\n    descriptors:\n      - key: x\n        rate_limit:\n          unit: foo\n',
    }),
    [
      {
        file: 'a.yaml',
        line: 8,
        column: 17,
        path: 'shop.region_eu.x',
        message:
          '"foo" is not a unit: write one of second, minute, hour, day, month, year, week, or `unlimited: true`',
      },
    ],
  );
});

t.test('a text that is not YAML is refused with the place of its first fault', async t => {
  t.equal(
    refusal("'''"),
    'rules.yaml:1:1: this is not valid YAML: the quote that opens here is never closed: write the same quote after the text',
  );
  t.match(refusal('domain: d\ndescriptors:\n\t- key: a'), /^rules.yaml:3:1: .*indent with spaces$/);
});

t.test('a file without content is refused, unlike no file', async t => {
  for (const text of ['', '\n', '# nothing\n', '---\n', '~\n', '\ufeff']) {
    t.match(
      refusal({ 'a.yaml': 'domain: d', 'empty.yaml': text }),
      /^empty.yaml: the file is empty: write `domain: `/,
    );
  }
});

t.test('a file that is no map is refused', async t => {
  t.match(refusal('- domain: d'), /^rules.yaml:1:1: a rule file is a map, not a list: write `domain: `/);
  t.match(refusal('hello'), /^rules.yaml:1:1: a rule file is a map, not the text "hello": write/);
});

t.test('a domain is required', async t => {
  const message = 'the file has no domain: write `domain: ` and a name at the top';
  t.equal(refusal('# c\ndescriptors:\n'), `rules.yaml:2:1: ${message}`);
  t.equal(refusal('domain:\n'), `rules.yaml:1:1: ${message}`);
  t.equal(refusal('descriptors: []\ndomain: ""\n'), `rules.yaml:2:9: ${message}`);
});

t.test('an entry needs a key; what lies below it is checked all the same', async t => {
  t.equal(
    refusal('domain: d\ndescriptors:\n  - value: v\n    descriptors:\n      - key: ""\n'),
    [
      'rules.yaml:3:5: d.descriptors[0]: the entry has no key: write `key: ` and the name of the descriptor key',
      'rules.yaml:5:14: d.descriptors[0].descriptors[0]: the entry has no key: write `key: ` and the name of the descriptor key',
    ].join('\n'),
  );
});

t.test('an unknown key is refused with the likely one and all that are accepted there', async t => {
  const entryKeys =
    'accepted here: key, value, in, in_file, cidr, cidr_file, range, matches, not, ignore_case, rate_limit, rate_limits, holder, quota, descriptors, shadow_mode, quota_mode, detailed_metric, value_to_metric, share_threshold, group_by, metadata';
  const cases: Record<string, string> = {
    ratelimit: 'did you mean `rate_limit`? ',
    'rate-limit': 'did you mean `rate_limit`? ',
    shadowMode: 'did you mean `shadow_mode`? ',
    descriptor: 'did you mean `descriptors`? ',
    Key: 'did you mean `key`? ',
    requestsperunit: 'did you mean `requests_per_unit`? ',
    something: '',
    [`k${'e'.repeat(200)}y`]: '',
  };
  for (const [key, hint] of Object.entries(cases)) {
    const shown = key.length > 80 ? `${key.slice(0, 80)}…` : key;
    t.equal(
      refusal(entryFile(`key: k\n${key}: x`)),
      `rules.yaml:4:5: d.k: unknown key \`${shown}\`; ${hint}${entryKeys}`,
    );
  }
  t.match(
    refusal(entryFile('key: k\nrate_limit: {unit: day, requestsperunit: 5}')),
    /^rules.yaml:4:29: d.k: unknown key `requestsperunit`; did you mean `requests_per_unit`\? accepted here: unit, unit_multiplier, window, calendar, requests_per_unit, algorithm, burst, penalty, classes, after_limit, scale, reserve, concurrency, unlimited, name, replaces$/,
  );
  t.match(
    refusal('domain: d\ndescriptor: []'),
    /^rules.yaml:2:1: d: .*`descriptors`\? accepted here: domain, descriptors, answers, requests$/,
  );
  t.match(
    refusal(entryFile('key: k\nrate_limit: {unit: day, replaces: [{nam: x}]}')),
    /unknown key `nam`; did you mean `name`\? accepted here: name\n.*no name/,
  );
});

t.test('keys that YAML takes for numbers, booleans or null are refused', async t => {
  const cases: Record<string, string> = {
    '0.25': 'a number',
    '5': 'a number',
    yes: 'a boolean',
    off: 'a boolean',
  };
  for (const [key, what] of Object.entries({ ...cases, y: 'a boolean', n: 'a boolean', '~': 'null' })) {
    t.match(
      refusal(`${key}: x\ndomain: d`),
      new RegExp(
        `^rules.yaml:1:1: d: the key "${key}" is ${what} in YAML and not a name; accepted here: domain, descriptors, answers, requests$`,
      ),
    );
  }
});

t.test('a list may only hold maps', async t => {
  t.equal(
    refusal('domain: d\ndescriptors:\n- a\n- [b]\n-\n- "c"\n'),
    ['a', 'a list', '', 'the text "c"']
      .map(
        (item, i) =>
          `rules.yaml:${3 + i}:${i === 2 ? 1 : 3}: d: \`descriptors\` may only hold maps, not ${item}: write \`- key: ...\``,
      )
      .join('\n')
      .replace(
        'rules.yaml:5:1: d: `descriptors` may only hold maps, not :',
        'rules.yaml:3:1: d: `descriptors` may only hold maps, not null:',
      ),
  );
  t.match(
    refusal(entryFile('key: k\nrate_limit: {unit: day, replaces: [x]}')),
    /`replaces` may only hold maps, not x: write `- name: \.\.\.`$/,
  );
});

t.test('a value of the wrong kind is refused', async t => {
  const cases: Record<string, string> = {
    'key: [a]': '`key` must be text, not a list: write one value after the colon',
    'key: {a: b}': '`key` must be text, not a map: write one value after the colon',
    'key: k\nvalue: []': '`value` must be text, not a list: write one value after the colon',
    'key: k\nrate_limit: 5': '`rate_limit` must be a map, not 5: indent its keys below it',
    'key: k\nrate_limit: []': '`rate_limit` must be a map, not a list: indent its keys below it',
    'key: k\ndescriptors: {}': '`descriptors` must be a list, not a map: write `- key: ...`',
    'key: k\ndescriptors: x': '`descriptors` must be a list, not x: write `- key: ...`',
    'key: k\nmetadata: []': '`metadata` must be a map, not a list: indent its keys below it',
    'key: k\nmetadata: "x"': '`metadata` must be a map, not the text "x": indent its keys below it',
  };
  for (const [lines, message] of Object.entries(cases)) {
    t.equal(faultsOf(entryFile(lines))[0]?.message, message, lines);
  }
  t.equal(
    faultsOf('domain: [d]')[0]?.message,
    '`domain` must be text, not a list: write one value after the colon',
  );
});

t.test('numbers other than whole ones of 64 bits are refused where text is wanted', async t => {
  const cases: Record<string, string> = {
    '1.5': 'a decimal number',
    '1e3': 'a decimal number',
    '.inf': 'a decimal number',
    '08': 'a number with a leading zero that is not octal',
    '09': 'a number with a leading zero that is not octal',
    '9223372036854775808': 'a whole number beyond 64 bits',
    '99999999999999999999': 'a whole number beyond 64 bits',
  };
  for (const [text, what] of Object.entries(cases)) {
    t.equal(
      refusal(entryFile(`key: k\nvalue: ${text}`)),
      `rules.yaml:4:12: d.k: ${text} is ${what}, and such numbers are only allowed in metadata: for text write "${text}", with the quotes`,
    );
    t.equal(refusal(entryFile(`key: k\nvalue: "${text}"`)), '');
  }
});

t.test('a composite key may stand once on a level', async t => {
  t.equal(
    refusal(
      'domain: d\ndescriptors:\n- key: l\n  descriptors:\n  - key: a\n    value: b\n  - key: a\n  - key: a_b\n',
    ),
    'rules.yaml:8:5: d.l.a_b: "a_b" is defined twice on this level, first in rules.yaml:5 (`key: a` with `value: b` and ' +
      '`key: a_b` are the same): remove one or change its key or value',
  );
  t.equal(
    refusal(
      'domain: d\ndescriptors:\n- key: a\n  descriptors:\n  - key: a\n- key: b\n  descriptors:\n  - key: a\n',
    ),
    '',
  );
});

t.test('a limit needs one of the units, an unlimited one has none', async t => {
  const list = 'second, minute, hour, day, month, year, week, or `unlimited: true`';
  const cases: Record<string, string> = {
    '{unit: foo}': `rules.yaml:4:24: d.k: "foo" is not a unit: write one of ${list}`,
    '{unit: weeks}': `rules.yaml:4:24: d.k: "weeks" is not a unit: write one of ${list}`,
    '{unit: unknown}': `rules.yaml:4:24: d.k: "unknown" is not a unit: write one of ${list}`,
    '{unit: constructor}': `rules.yaml:4:24: d.k: "constructor" is not a unit: write one of ${list}`,
    '{}': `rules.yaml:4:17: d.k: the limit has no \`unit\`: write one of ${list}`,
    '{requests_per_unit: 5}': `rules.yaml:4:17: d.k: the limit has no \`unit\`: write one of ${list}`,
    '{unit: , unlimited: false}': `rules.yaml:4:18: d.k: the limit has no \`unit\`: write one of ${list}`,
    '{unit: day, requests_per_unit: 5, unlimited: true}':
      'rules.yaml:4:24: d.k: an unlimited rule has no unit: remove `unit: day` or `unlimited: true`',
  };
  for (const [limit, expected] of Object.entries(cases)) {
    t.equal(refusal(entryFile(`key: k\nrate_limit: ${limit}`)), expected, limit);
  }
});

t.test('replaces takes names, and not the own one', async t => {
  const limit = (replaces: string): string =>
    entryFile(`key: k\nrate_limit:\n  unit: day\n  name: self\n  replaces:\n${replaces}`);
  t.equal(
    refusal(limit('  - name:\n  - {}\n  - name: self\n  - name: other\n  - name: [x]')),
    [
      'rules.yaml:8:9: d.k: an item of `replaces` has no name: write `- name: ` and the name of a limit',
      'rules.yaml:9:9: d.k: an item of `replaces` has no name: write `- name: ` and the name of a limit',
      'rules.yaml:10:15: d.k: a limit cannot replace itself: "self" is its own name',
      'rules.yaml:12:15: d.k: `name` must be text, not a list: write one value after the colon',
    ].join('\n'),
  );
});

t.test('share_threshold needs a wildcard in the value or in the key', async t => {
  t.equal(
    refusal(entryFile('key: k\nvalue: v\nshare_threshold: true')),
    'rules.yaml:5:22: d.k_v: `share_threshold` is only for entries of several values, and "k_v" has one: ' +
      'remove the flag, or write several values, such as `in: [a, b]` or a value with a `*`',
  );
  t.equal(refusal(entryFile('key: k\nvalue: v\nshare_threshold: false')), '');
  for (const lines of ['key: k\nvalue: v*', 'key: k\nvalue: a*b', 'key: k\nvalue: "*"', 'key: k*']) {
    t.equal(refusal(entryFile(`${lines}\nshare_threshold: true`)), '', lines);
  }
});

t.test('every fault is listed, in all files, up to twenty', async t => {
  const faults = faultsOf({
    'a.yaml': 'domain: a\ndescriptors:\n- key: k\n  valu: x\n  shadow_mode: 5\n- value: y\n',
    'b.yaml': 'domain: "',
    'c.yaml': 'descriptors: []\n',
  });
  t.strictSame(
    faults.map(({ file, line, column }) => `${file}:${line}:${column}`),
    ['a.yaml:4:3', 'a.yaml:5:16', 'a.yaml:6:3', 'b.yaml:1:9', 'c.yaml:1:1'],
  );
  t.equal(faultsOf(`domain: d\ndescriptors:\n${'- x: 1\n'.repeat(1000)}`).length, 20);
});

t.test('text from the file is shown on one line, and cut', async t => {
  const shown = refusal(entryFile(`key: "a\\nb\\u001b[31m"\nvalue: ${'v'.repeat(500)}\nkex: 1`));
  t.match(shown, /^rules.yaml:5:5: d.a\\u000ab\\u001b\[31m_v{60,80}…: unknown key `kex`/);
  t.notMatch(shown, '\n');
});

t.test('bytes that are not UTF-8 are refused with their place', async t => {
  const { loadRuleSet } = await import('../../../../src/rules/parse/load.ts');
  for (const bad of [
    [0xff],
    [0xc3, 0x28],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0x80],
  ]) {
    const content = Buffer.concat([Buffer.from('domain: d\nvalue: é'), Buffer.from(bad)]);
    t.throws(() => loadRuleSet([{ name: 'x.yaml', content }], { mergeDomains: false }), {
      name: 'RuleSetRefused',
      message: 'x.yaml:2:9: byte 19 of the file is not UTF-8: save the file as UTF-8',
    });
  }
});

t.test('a control character is refused', async t => {
  t.match(
    refusal('domain: a\x07b'),
    /^rules.yaml:1:10: the control character U\+0007 is not allowed in YAML: remove it/,
  );
});

t.test('lines count with carriage returns, and columns by character after a byte order mark', async t => {
  t.match(refusal('\ufeffdomain: d\r\n\r\nfoo: 1\r\n'), /^rules.yaml:3:1: d: unknown key `foo`/);
  t.match(refusal('\ufefffoo: 1\ndomain: d'), /^rules.yaml:1:1: d: unknown key `foo`/);
});
