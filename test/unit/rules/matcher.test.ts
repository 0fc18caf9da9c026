import t from 'tap';
import { FNV_START, fnvOver } from '../../../src/base/hash.ts';
import { HEADER, LIMIT } from '../../../src/rules/layout.ts';
import { MATCHED } from '../../../src/rules/matching/matched.ts';
import { MAX_ENTRY_LEVELS } from '../../../src/rules/parse/yaml/bounds.ts';
import { randomEntries } from '../../exam/decisions/random-rules.ts';
import { type EntryText, limit, named, nested } from '../../exam/decisions/rule-file.ts';
import { descriptor } from '../../support/decisions.ts';
import { compareMatches, Matching, Seen } from '../../support/matching.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** Whether a value pattern under `k` matches a value. */
function matchesValue(pattern: string, value: string): boolean {
  return new Matching([{ key: 'k', value: pattern, rate_limit: limit(1) }]).pathOf(`k=${value}`) !== null;
}

t.test('the entry of the holder of leases is set aside wherever it stands after the rule', async t => {
  const slots = { concurrency: { limit: 5, for: '1m' } };
  const matching = new Matching([
    {
      key: 'user',
      holder: 'request_id',
      rate_limit: slots,
      descriptors: [
        { key: 'model', rate_limit: limit(1), descriptors: [{ key: 'n', rate_limit: limit(1) }] },
      ],
    },
  ]);
  const look = (text: string) => [matching.pathOf(text), matching.keyText, matching.matcher.asideCount];
  t.strictSame(look('user=a'), ['d.user', 'user_a_', 0]);
  t.strictSame(look('user=a,request_id=7'), ['d.user', 'user_a_', 1]);
  t.strictSame(look('user=a,request_id=7,model=m'), ['d.user.model', 'user_a_model_m_', 1]);
  t.equal(matching.pathOf('request_id=7,user=a'), null, 'not before the rule');
  t.equal(
    matching.pathOf('user=a,model=m,request_id=7'),
    null,
    'not after an entry below that has no leases',
  );
  t.equal(matching.pathOf('user=a,request=7'), null);
});

t.test('rules of as many levels as a descriptor may have entries are compiled and matched', async t => {
  let entries: EntryText[] = [{ key: 'k', value: 'v', rate_limit: limit(1) }];
  for (let level = 1; level < MAX_ENTRY_LEVELS; level++)
    entries = [{ key: 'k', value: 'v', descriptors: entries }];
  const matching = new Matching(entries);
  const pairs = (count: number): string => 'k=v,'.repeat(count).slice(0, -1);
  t.equal(matching.pathOf(pairs(MAX_ENTRY_LEVELS)), `d${'.k_v'.repeat(MAX_ENTRY_LEVELS)}`);
  t.equal(matching.pathOf(pairs(MAX_ENTRY_LEVELS - 1)), null);
});

t.test('a wildcard stands for no or more characters, wherever it is', async t => {
  for (const [pattern, yes, no] of [
    ['foo*', ['foo', 'foo1', 'foo*', 'foo_/.'], ['bar', 'fo', 'xfoo', '']],
    ['*foo', ['foo', '1foo', 'foofoo'], ['foo1', 'fo', '']],
    ['bar*b', ['barb', 'barab', 'bar123b', 'barbb'], ['bara', 'xbarb', 'bar', 'ba']],
    [
      'foo*bar*baz',
      ['foobarbaz', 'foo123bar456baz', 'foobarbarbaz'],
      ['foo123baz', 'bar456baz', 'foobabaz', 'foobaz'],
    ],
    ['/api*v1', ['/apiv1', '/api/v1', '/api/x/v1'], ['/api', 'v1', '/apv1', '/api/v10']],
    ['*', ['', 'a', '*', 'a_b/c.d'], []],
    ['**', ['', 'a'], []],
    ['a**b', ['ab', 'a-b'], ['a', 'b', 'ba']],
    ['a*a', ['aa', 'aba'], ['a', 'ab']],
    ['a*b*a', ['aba', 'abba', 'axbya'], ['aa', 'ab', 'aca']],
    ['*ab*ab*', ['abab', 'xabyabz', 'ababab'], ['ab', 'aab', 'abba']],
    ['*aa*aa*', ['aaaa', 'xaayaaz', 'aaaaa'], ['aaa', 'aa', 'axaaxa']],
    ['k*aba*aba*k', ['kabaabak', 'kaba-abak'], ['kababak', 'kabak']],
    ['ab*ba*ab', ['abbaab', 'ab-ba-ab'], ['abab', 'abaab', 'abba']],
    ['foo', ['foo'], ['foo1', 'fo', '']],
    ['é*', ['é', 'éé'], ['e', 'É']],
  ] as const) {
    for (const value of yes) t.ok(matchesValue(pattern, value), `${pattern} matches \`${value}\``);
    for (const value of no) t.notOk(matchesValue(pattern, value), `${pattern} does not match \`${value}\``);
  }
});

t.test('the composite text decides, whatever part of it is the key', async t => {
  for (const [entry, text, path] of [
    [{ key: 'a_b', value: 'c' }, 'a=b_c', 'd.a_b_c'],
    [{ key: 'a_b', value: 'c' }, 'a_b=c', 'd.a_b_c'],
    [{ key: 'a_b' }, 'a=b', 'd.a_b'],
    [{ key: 'a_b' }, 'a_b=c', 'd.a_b'],
    [{ key: 'a_b' }, 'a=b_c', null],
    [{ key: 'user', value: '*' }, 'user_id=5', 'd.user_*'],
    [{ key: 'foo*' }, 'foobar=x', 'd.foo*'],
    [{ key: 'f*', value: 'v' }, 'fx=v', 'd.f*_v'],
    [{ key: 'f*', value: 'v' }, 'f=v', 'd.f*_v'],
    [{ key: 'f*', value: 'v' }, 'f=w', null],
    // A key that is written like the pattern finds the entry by its text, although the pattern does not match.
    [{ key: 'a*b' }, 'a*b=v', 'd.a*b'],
  ] as const) {
    t.equal(new Matching([{ ...entry, rate_limit: limit(1) }]).pathOf(text), path, `${text} gives ${path}`);
  }
});

t.test(
  'how each level was matched is kept, and values that share a counter have their pattern in the key',
  async t => {
    const matching = new Matching([
      nested(
        { key: 'a', value: 'x' },
        { key: 'b', value: 'y*', share_threshold: true },
        { key: 'c', rate_limit: limit(1) },
      ),
    ]);
    t.ok(matching.limitOf(descriptor('a=x,b=yz,c=')) >= 0);
    t.equal(matching.keyText, 'a_x_b_y*_c__');
    t.strictSame(
      [...matching.matcher.how.subarray(0, 3)],
      [MATCHED.exact, MATCHED.wildcard, MATCHED.keyOnly],
    );
    t.ok(matching.matcher.shared);
    t.equal(matching.limitOf(descriptor('a=x')), -1);
    t.notOk(matching.matcher.shared, 'nothing stays from the descriptor before');
  },
);

t.test('an exact match on a shared pattern shares nothing', async t => {
  const matching = new Matching([{ key: 'b', value: 'y*', share_threshold: true, rate_limit: limit(1) }]);
  t.ok(matching.limitOf(descriptor('b=y*')) >= 0);
  t.notOk(matching.matcher.shared);
});

t.test('a failure below a level never leads back to another entry of the level', async t => {
  const deep = (first: EntryText, second: EntryText) =>
    new Matching([
      nested(first, { key: 'z', value: '1', rate_limit: limit(1) }),
      nested(second, { key: 'z', rate_limit: limit(2) }),
    ]);
  for (const [first, second] of [
    [
      { key: 'a', value: 'x' },
      { key: 'a', value: 'x*' },
    ],
    [{ key: 'a', value: 'x' }, { key: 'a' }],
    [
      { key: 'a', value: 'x*' },
      { key: 'a', value: '*x' },
    ],
    [{ key: 'a', value: '*x' }, { key: 'a' }],
  ]) {
    const matching = deep(first, second);
    t.type(matching.pathOf('a=x,z=1'), 'string');
    t.equal(matching.pathOf('a=x,z=2'), null, `${JSON.stringify(first)} hides ${JSON.stringify(second)}`);
  }
});

t.test('many wildcards with equal ends keep their order of definition', async t => {
  const middles = Array.from({ length: 200 }, (_, i) => `m${199 - i}m`);
  const matching = new Matching(
    middles.map(middle => ({ key: 'k', value: `a*${middle}*z`, rate_limit: limit(1) })),
  );
  t.equal(matching.pathOf('k=a-m7m-z'), 'd.k_a*m7m*z');
  t.equal(matching.pathOf('k=a-m7m-m8m-z'), 'd.k_a*m8m*z', 'the one that was defined first');
  t.equal(matching.pathOf('k=a-m8m-m7m-z'), 'd.k_a*m8m*z');
});

t.test('between wildcards of different ends the first in the file wins', async t => {
  const values = ['*z', 'a*', '*', 'ab*', '*yz'];
  for (let turn = 0; turn < values.length; turn++) {
    const order = [...values.slice(turn), ...values.slice(0, turn)];
    const matching = new Matching(order.map(value => ({ key: 'k', value, rate_limit: named(value) })));
    t.equal(matching.pathOf('k=abyz'), `d.k_${order[0]}`);
  }
});

t.test('texts of equal hashes are told apart', async t => {
  // Two texts of one length and one FNV-1a hash, and what follows them does not part the hashes.
  const [one, other] = ['declinate', 'macallums'];
  const hash = (text: string): number => fnvOver(FNV_START, Buffer.from(text), 0, text.length);
  t.equal(hash(one), hash(other));
  const backwards = (text: string): string => [...text].reverse().join('');
  const exact = new Matching([{ key: one, value: 'v', rate_limit: limit(1) }]);
  t.equal(exact.pathOf(`${one}=v`), `d.${one}_v`);
  t.equal(exact.pathOf(`${other}=v`), null);
  const keyOnly = new Matching([{ key: one, rate_limit: limit(1) }]);
  t.equal(keyOnly.pathOf(`${other}=v`), null);
  const prefixed = new Matching([{ key: one, value: '*', rate_limit: limit(1) }]);
  t.equal(prefixed.pathOf(`${other}=v`), null);
  const suffixed = new Matching([{ key: 'k', value: `*${backwards(one)}`, rate_limit: limit(1) }]);
  t.equal(suffixed.pathOf(`k=x${backwards(other)}`), null);
  t.equal(suffixed.pathOf(`k=x${backwards(one)}`), `d.k_*${backwards(one)}`);
  const both = new Matching([
    { key: one, value: '*', rate_limit: limit(1) },
    { key: other, value: '*', rate_limit: limit(1) },
    { key: other, value: 'v', rate_limit: limit(1) },
  ]);
  t.equal(both.pathOf(`${one}=v`), `d.${one}_*`);
  t.equal(both.pathOf(`${other}=x`), `d.${other}_*`);
  t.equal(both.pathOf(`${other}=v`), `d.${other}_v`);
});

t.test('ends of any length are found', async t => {
  for (const length of [1, 255, 256, 257, 600, 5_000]) {
    const end = 'e'.repeat(length);
    const matching = new Matching([
      { key: 'k', value: `*${end}!`, rate_limit: limit(1) },
      { key: 'k', value: `${end}?*`, rate_limit: limit(1) },
    ]);
    t.equal(matching.pathOf(`k=x${end}!`), `d.k_*${end}!`, `a tail of ${length}`);
    t.equal(matching.pathOf(`k=${end}?x`), `d.k_${end}?*`, `a head of ${length}`);
    t.equal(matching.pathOf(`k=${end}`), null);
  }
});

t.test('an empty rule set, and a request without entries, match nothing', async t => {
  t.equal(new Matching([]).pathOf('a=b'), null);
  const nothing = { entries: [], limit: null, hitsAddend: null };
  t.equal(new Matching([{ key: 'a', rate_limit: limit(1) }]).limitOf(nothing), -1);
});

t.test('random rules and requests are matched as by lists and texts', async t => {
  const random = new SeededRandom(20_240_229);
  const seen = new Seen();
  for (let round = 0; round < 400; round++)
    compareMatches(t, random, randomEntries(random, 2), { requests: 30, seen });
  for (const [what, times] of Object.entries(seen.times)) t.ok(times > 40, `${what}: ${times} times`);
});

t.test('rules are read only while matching', async t => {
  const matching = new Matching([{ key: 'k', value: 'a*', rate_limit: limit(1) }]);
  const before = Buffer.from(new Uint8Array(matching.rules.buffer)).toString('hex');
  matching.pathOf('k=abc');
  t.equal(Buffer.from(new Uint8Array(matching.rules.buffer)).toString('hex'), before);
  t.equal(matching.rules.limit(0, LIMIT.unit), 3);
  t.equal(matching.rules.words[HEADER.limitCount], 1);
});

t.test('no other rule of a level, and no value, counts in a counter of several values', async t => {
  const rules: readonly EntryText[] = [
    { key: 'k', matches: '^/api/admin/', group_by: { segments: 1 }, rate_limit: limit(1) },
    { key: 'k', in: ['gold', 'silver'], share_threshold: true, rate_limit: limit(2) },
    { key: 'k', value: '/api', rate_limit: limit(3) },
    { key: 'k', value: 'bronze', ignore_case: true, rate_limit: limit(4) },
    { key: 'k', value: '=*', rate_limit: limit(5) },
    { key: 'k', group_by: { segments: 1 }, rate_limit: limit(6) },
  ];
  const matching = new Matching(rules);
  const counters = new Map<string, number>();
  const values = [
    '/api/admin/x',
    'gold',
    'silver',
    '/api',
    '/api/users',
    'bronze',
    'BRONZE',
    'x',
    '=x',
    '==x',
  ];
  for (let round = 0; round < 3; round++) {
    for (const value of [...values]) {
      const asked = { entries: [{ key: 'k', value }], limit: null, hitsAddend: null };
      const found = matching.limitOf(asked);
      const key = matching.keyText;
      t.equal(counters.get(key) ?? found, found, `${value} counts in ${key}`);
      counters.set(key, found);
      // Whoever chooses values can send what stands in the keys of others.
      values.push(key.slice('k_'.length, -1));
    }
  }
  t.equal(new Set(counters.values()).size, rules.length);
});

t.test('spellings of a value share a counter where case is ignored', async t => {
  const ofRule = (rule: object, value: string): string => {
    const matching = new Matching([{ key: 'k', ...rule, rate_limit: limit(1) } as EntryText]);
    matching.limitOf({ entries: [{ key: 'k', value }], limit: null, hitsAddend: null });
    return matching.keyText;
  };
  for (const rule of [
    { value: 'gold', ignore_case: true },
    { in: ['gold', 'x'], ignore_case: true },
    { matches: '^go', ignore_case: true },
  ])
    t.equal(ofRule(rule, 'GoLd'), ofRule(rule, 'gold'));
});
