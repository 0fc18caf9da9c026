import t from 'tap';
import {
  OverlayPattern,
  pathBelow,
  pathText,
} from '../../../../../src/rules/parse/overlay/overlay-pattern.ts';

/** The path of entries that are written as `[key, value]`. */
function pathOf(...levels: readonly (readonly [key: string, value?: string])[]): string {
  return levels.reduce((above, [key, value = '']) => pathBelow(above, key, value), '');
}

function matches(pattern: string, path: string): boolean {
  return new OverlayPattern(pattern, 'path').matches(path);
}

const ROUTE = 'httproute/default/shop/rule/0/match/0/www_example_com';
const GENERATED = pathOf([ROUTE, ROUTE], ['rule-0-match-0', 'rule-0-match-0']);

t.test('a pattern without `*` matches the keys of a path, with any values', async t => {
  t.ok(matches('user', pathOf(['user'])));
  t.ok(matches('user', pathOf(['user', 'ann'])));
  t.ok(matches('path/user', pathOf(['path', '/login'], ['user', 'ann'])));
  t.notOk(matches('user', pathOf(['users'])));
  t.notOk(matches('user', pathOf(['user_id'])), 'not a key that begins in the same way');
  t.notOk(matches('user', pathOf(['path'], ['user'])));
  t.notOk(matches('user', pathOf(['user'], ['path'])));
});

t.test('a level with a value matches that value only', async t => {
  t.ok(matches('user=ann', pathOf(['user', 'ann'])));
  t.notOk(matches('user=ann', pathOf(['user', 'bob'])));
  t.notOk(matches('user=ann', pathOf(['user'])));
  t.ok(matches('path=/login/user=ann', pathOf(['path', '/login'], ['user', 'ann'])));
  t.notOk(matches('path/user=ann', pathOf(['path', '/login'], ['user', 'bob'])));
});

t.test('`*` stands for any text, also over several levels', async t => {
  t.ok(matches('*/rule-0-match-0', GENERATED));
  t.ok(matches('httproute/default/shop/*/rule-0-match-0', GENERATED));
  t.ok(matches('*/shop/*', GENERATED));
  t.ok(matches('*', GENERATED));
  t.ok(matches('*shop*match-0', GENERATED));
  t.notOk(matches('*/rule-0-match-1', GENERATED));
  t.notOk(matches('*/rule-0-match-0', pathOf(['rule-0-match-0'])), 'there has to be something above');
  t.notOk(matches('shop*shop', pathOf(['shop'])), 'parts do not overlap');
  t.ok(matches('a**b', pathOf(['a'], ['b'])));
  t.ok(matches('us*=ann', pathOf(['user', 'ann'])));
});

t.test('keys and values may contain `/`, `=`, dots and line breaks', async t => {
  t.ok(matches('a/b=c', pathOf(['a/b=c'])));
  t.ok(matches('a.b', pathOf(['a.b'])));
  t.notOk(matches('a.b', pathOf(['axb'])));
  t.ok(matches('a*b', pathOf(['a', '1\n2'], ['b'])));
  t.ok(matches('(a|b)+[c]$^?{1}\\', pathOf(['(a|b)+[c]$^?{1}\\'])));
});

t.test('a domain is compared as a whole', async t => {
  const domain = (pattern: string, text: string) => new OverlayPattern(pattern, 'domain').matches(text);
  t.ok(domain('default/eg/http', 'default/eg/http'));
  t.ok(domain('*', ''));
  t.ok(domain('default/*/http', 'default/eg/http'));
  t.notOk(domain('default/eg', 'default/eg/http'));
  t.notOk(domain('a=b', 'a\x01b'));
});

t.test('of two patterns, the one with more characters that are not `*` is more precise', async t => {
  const precision = (pattern: string) => new OverlayPattern(pattern, 'path').precision;
  t.equal(precision('*'), 0);
  t.equal(precision('*/rule-0'), 7);
  t.ok(precision('a*/rule-0') > precision('*/rule-0'));
});

t.test('a pattern with many `*` takes linear time', async t => {
  const text = pathOf(['a'.repeat(20_000)]);
  t.notOk(matches(`${'a*'.repeat(900)}b`, text));
});

t.test('a path is shown as a pattern that matches it', async t => {
  const paths = [GENERATED, pathOf(['user', 'ann'], ['path']), pathOf(['a/b', 'c=d'])];
  for (const path of paths) t.ok(matches(pathText(path), path), pathText(path));
  t.equal(pathText(GENERATED), `${ROUTE}/rule-0-match-0`);
});
