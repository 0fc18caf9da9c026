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
  examineConditions(matches);
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

function examineConditions(matches: Matches): void {
  matches(
    'conditions are tried in the order exact, list, network, range, pattern, wildcard, exclusion, key alone, wherever they stand',
    [
      { key: 'k', rate_limit: named('key') },
      { key: 'k', not: { in: ['-', '7x'] }, rate_limit: named('not') },
      { key: 'k', value: '1*', rate_limit: named('wildcard') },
      { key: 'k', matches: '^10?', rate_limit: named('pattern') },
      { key: 'k', range: { from: 10, to: 20 }, rate_limit: named('range') },
      { key: 'k', cidr: ['10.0.0.0/8'], rate_limit: named('network') },
      { key: 'k', in: ['10', '10.0.0.1', '11'], rate_limit: named('list') },
      { key: 'k', value: '11', rate_limit: named('exact') },
    ],
    {
      'k=11': 'exact',
      'k=10': 'list',
      'k=10.0.0.1': 'list',
      'k=10.0.0.2': 'network',
      'k=12': 'range',
      'k=1': 'pattern',
      'k=13x': 'pattern',
      'k=x': 'not',
      'k=-': 'key',
      'k=7x': 'key',
      j: null,
    },
  );
  matches(
    'the longest prefix wins, also among several entries, and addresses are compared as numbers',
    [
      { key: 'ip', cidr: ['10.0.0.0/8', '2001:db8::/32'], rate_limit: named('wide') },
      { key: 'ip', cidr: ['10.1.0.0/16', '10.1.2.3', '2001:db8:1::/48'], rate_limit: named('narrow') },
      { key: 'ip', cidr: ['10.1.2.0/24'], rate_limit: named('between') },
    ],
    {
      'ip=10.2.0.1': 'wide',
      'ip=10.1.0.1': 'narrow',
      'ip=10.1.2.1': 'between',
      'ip=10.1.2.3': 'narrow',
      'ip=::ffff:10.1.2.1': 'between',
      'ip=2001:DB8:0001:0::1': 'narrow',
      'ip=2001:db8::1%eth0': 'wide',
      'ip=11.0.0.1': null,
      'ip=10.1.2': null,
      'ip=': null,
    },
  );
  matches(
    'a value is found in upper and lower case where a rule ignores it, after values in their case',
    [
      { key: 'plan', in: ['Gold', 'Silver'], ignore_case: true, rate_limit: named('list') },
      { key: 'plan', value: 'Trial', ignore_case: true, rate_limit: named('trial') },
      { key: 'plan', value: 'GOLD', rate_limit: named('exact') },
      { key: 'plan', matches: '^b[0-9]$', ignore_case: true, rate_limit: named('pattern') },
    ],
    {
      'plan=GOLD': 'exact',
      'plan=gold': 'list',
      'plan=sILVER': 'list',
      'plan=TRIAL': 'trial',
      'plan=B7': 'pattern',
      'plan=B': null,
      'Plan=gold': null,
    },
  );
  matches(
    'what `not` excludes are all of its conditions',
    [
      {
        key: 'ip',
        not: { cidr: ['10.0.0.0/8'], in: ['localhost'], matches: '^::1$' },
        rate_limit: named('others'),
      },
    ],
    { 'ip=10.1.1.1': null, 'ip=localhost': null, 'ip=::1': null, 'ip=11.1.1.1': 'others', 'ip=': 'others' },
  );
  matches(
    'an entry with a condition leads to the entries below it',
    [
      nested(
        { key: 'ip', cidr: ['10.0.0.0/8'] },
        { key: 'path', matches: '^/api/', rate_limit: named('api') },
      ),
    ],
    { 'ip=10.1.1.1,path=/api/x': 'api', 'ip=10.1.1.1,path=/x': null, 'ip=11.1.1.1,path=/api/x': null },
  );
}
