import type { Test } from 'tap';
import { deciding, limitFor, type OpenStore } from './examinee.ts';
import { type EntryText, named, nested } from './rule-file.ts';

/** What is asked, and the name of the limit that must apply (null: none). */
type Cases = Readonly<Record<string, string | null>>;

/** Which rule a descriptor is decided by. */
export function examineMatching(t: Test, open: OpenStore): void {
  const matches = (sentence: string, entries: readonly EntryText[], cases: Cases): void => {
    t.test(sentence, async t => {
      const decisions = await deciding(open, ...entries);
      for (const [text, expected] of Object.entries(cases))
        t.equal(await limitFor(decisions, text), expected, text);
    });
  };
  examineLevels(matches);
  examineWildcards(matches);
  examineCompositeTexts(matches);
}

type Matches = (sentence: string, entries: readonly EntryText[], cases: Cases) => void;

function examineLevels(matches: Matches): void {
  matches(
    'an entry with key and value but without limit beats the key-only entry with one',
    [
      { key: 'k', value: 'free' },
      { key: 'k', rate_limit: named('any') },
    ],
    { 'k=free': null, 'k=other': 'any', 'k=': 'any', k: 'any' },
  );
  matches(
    'the order on a level is exact, then wildcards in definition order, then key only',
    [
      { key: 'k', rate_limit: named('key') },
      { key: 'k', value: 'ab*', rate_limit: named('ab*') },
      { key: 'k', value: 'a*', rate_limit: named('a*') },
      { key: 'k', value: 'abc*', rate_limit: named('abc*') },
      { key: 'k', value: 'abc', rate_limit: named('abc') },
    ],
    { 'k=abc': 'abc', 'k=abcd': 'ab*', 'k=ab': 'ab*', 'k=a': 'a*', 'k=b': 'key', 'k=': 'key', j: null },
  );
  matches(
    'a limit applies only to descriptors of exactly its depth',
    [
      nested(
        { key: 'a', rate_limit: named('first') },
        { key: 'b' },
        { key: 'c', rate_limit: named('third') },
      ),
      { key: 'flat', rate_limit: named('flat') },
    ],
    {
      'a=1': 'first',
      'a=1,b=2': null,
      'a=1,b=2,c=3': 'third',
      'a=1,b=2,c=3,d=4': null,
      'flat=1': 'flat',
      'flat=1,x=2': null,
      'b=2': null,
      'b=2,a=1': null,
    },
  );
  matches(
    'a miss below an exact entry does not fall back to the wildcard or key-only entry beside it',
    [
      nested({ key: 'a', value: 'x' }, { key: 'b', value: '1', rate_limit: named('x1') }),
      nested({ key: 'a', value: 'x*' }, { key: 'b', rate_limit: named('x*') }),
      nested({ key: 'a' }, { key: 'b', rate_limit: named('any') }),
    ],
    { 'a=x,b=1': 'x1', 'a=x,b=2': null, 'a=xy,b=2': 'x*', 'a=z,b=2': 'any', 'a=x': null },
  );
  matches(
    'a miss below a wildcard entry does not fall back to the next wildcard',
    [
      nested({ key: 'a', value: 'x*' }, { key: 'b', value: '1', rate_limit: named('x*') }),
      nested({ key: 'a', value: 'xy*' }, { key: 'b', rate_limit: named('xy*') }),
    ],
    { 'a=xyz,b=1': 'x*', 'a=xyz,b=2': null },
  );
  matches(
    'texts are compared byte by byte, with their case',
    [
      { key: 'Key', value: 'Value', rate_limit: named('exact') },
      { key: 'ü', value: '日*本', rate_limit: named('wide') },
    ],
    {
      'Key=Value': 'exact',
      'key=Value': null,
      'Key=value': null,
      'ü=日日本': 'wide',
      'ü=日本': 'wide',
      'ü=日': null,
    },
  );
}

function examineWildcards(matches: Matches): void {
  const valued = (...values: string[]): EntryText[] => [
    ...values.map(value => ({ key: 'k', value, rate_limit: named(value) })),
    { key: 'k', rate_limit: named('key') },
  ];
  matches('a wildcard at the end matches every value with its beginning', valued('foo*'), {
    'k=foo': 'foo*',
    'k=foo1': 'foo*',
    'k=foo*': 'foo*',
    'k=bar': 'key',
    'k=fo': 'key',
    'k=xfoo': 'key',
  });
  matches('a wildcard in the middle needs both ends, without overlap', valued('bar*b', 'aba*aba'), {
    'k=barb': 'bar*b',
    'k=barab': 'bar*b',
    'k=bar123b': 'bar*b',
    'k=bara': 'key',
    'k=bar': 'key',
    'k=xbarb': 'key',
    'k=aba': 'key',
    'k=ababa': 'key',
    'k=abaaba': 'aba*aba',
  });
  matches('the parts between several wildcards are needed in their order', valued('foo*bar*baz'), {
    'k=foobarbaz': 'foo*bar*baz',
    'k=foo123bar456baz': 'foo*bar*baz',
    'k=foobarbarbaz': 'foo*bar*baz',
    'k=foo123baz': 'key',
    'k=bar456baz': 'key',
    'k=foobaz': 'key',
    'k=foobabaz': 'key',
    'k=foobazbarx': 'key',
  });
  matches('a part between wildcards may not overlap the tail', valued('a*ab*ab'), {
    'k=aab': 'key',
    'k=aabab': 'a*ab*ab',
    'k=aabb': 'key',
    'k=axabxab': 'a*ab*ab',
  });
  matches('slashes, dots and underscores are characters like others', valued('/api*v1', 'x*.example.com'), {
    'k=/apiv1': '/api*v1',
    'k=/api/v1': '/api*v1',
    'k=/api/a_b/v1': '/api*v1',
    'k=/api/v2': 'key',
    'k=x.a.example.com': 'x*.example.com',
    'k=x.example.org': 'key',
  });
  matches('a lone wildcard matches every value, also the empty one', valued('*'), {
    'k=': '*',
    k: '*',
    'k=v': '*',
    'k=*': '*',
    'other=v': null,
  });
  matches('two wildcards in a row are as good as one', valued('a**b'), {
    'k=ab': 'a**b',
    'k=a-b': 'a**b',
    'k=a': 'key',
  });
  matches('a value without a wildcard is no beginning', valued('foo'), { 'k=foo': 'foo', 'k=foo1': 'key' });
  matches('a long value is matched to its end', valued(`${'long/'.repeat(200)}*end`), {
    [`k=${'long/'.repeat(200)}xend`]: `${'long/'.repeat(200)}*end`,
    [`k=${'long/'.repeat(200)}xen`]: 'key',
    [`k=${'long/'.repeat(199)}xend`]: 'key',
  });
}

function examineCompositeTexts(matches: Matches): void {
  matches(
    'the joined text of key and value is compared, wherever the key ends',
    [
      { key: 'a_b', value: 'c', rate_limit: named('abc') },
      { key: 'user_id', rate_limit: named('key') },
    ],
    {
      'a=b_c': 'abc',
      'a_b=c': 'abc',
      'a_b_c=': 'abc',
      'a_b=': null,
      'user=id': 'key',
      'user_id=7': 'key',
      'user=id_7': null,
    },
  );
  matches(
    'a wildcard on the value of one key captures a longer key before its key-only entry is tried',
    [
      { key: 'user_id', rate_limit: named('key') },
      { key: 'user', value: '*', rate_limit: named('user_*') },
    ],
    { 'user_id=5': 'user_*', 'user_id=': 'user_*', 'user=5': 'user_*', 'userid=5': null },
  );
  matches(
    'a wildcard in the key matches any key and value that begin so',
    [
      { key: 'foo*', rate_limit: named('foo*') },
      { key: 'x*', value: 'y', rate_limit: named('x*_y') },
    ],
    {
      'foo=1': 'foo*',
      'foobar=': 'foo*',
      'fo=o': null,
      'xz=y': 'x*_y',
      'x=y': 'x*_y',
      'x=a_y': 'x*_y',
      'x=z': null,
    },
  );
  matches(
    'an empty value is tried as `key_` by wildcards, then as the key alone',
    [
      { key: 'k', rate_limit: named('key') },
      { key: 'k', value: 'v', rate_limit: named('exact') },
      { key: 'w', value: '*', rate_limit: named('wild') },
      { key: 'w', rate_limit: named('wkey') },
    ],
    { 'k=': 'key', 'w=': 'wild' },
  );
  matches(
    'a value that is written like a pattern matches its entry exactly, before an earlier wildcard',
    [
      { key: 'f', value: '*', rate_limit: named('all') },
      { key: 'f', value: 'files/*', rate_limit: named('files') },
    ],
    { 'f=files/*': 'files', 'f=files/a': 'all' },
  );
}
