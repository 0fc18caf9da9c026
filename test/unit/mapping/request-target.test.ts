import t from 'tap';
import { RequestTarget } from '../../../src/mapping/request-target.ts';

function read(text: string): RequestTarget {
  const target = new RequestTarget();
  target.read(text);
  return target;
}

t.test('a path has one spelling', async t => {
  const spellings: Readonly<Record<string, string>> = {
    '/api/orders': '/api/orders',
    '/api/orders/': '/api/orders/',
    '/': '/',
    '/a?b=/c': '/a',
    '//api///orders': '/api/orders',
    '/api/./orders/../users': '/api/users',
    '/../../api': '/api',
    '/api/..': '/',
    '/%61pi/%6Frders': '/api/orders',
    '/%2e%2e/api': '/api',
    '/api%2forders': '/api%2Forders',
    '/api%252forders': '/api%2forders',
    '/caf%C3%A9': '/café',
    '/café': '/café',
    '/%zz/%4': '/%zz/%4',
    '/%ff': '/\ufffd',
    '/.well-known': '/.well-known',
    'https://shop.example/api?x': '/api',
    'https://shop.example': '/',
    '*': '/*',
    '/login#1': '/login',
    '/login#a?b/../c': '/login',
    '/login?#': '/login',
    '/a%23b': '/a#b',
    'https://shop.example#x': '/',
  };
  for (const [written, path] of Object.entries(spellings)) t.equal(read(written).path, path, written);
});

t.test('segments count from 1', async t => {
  const target = read('/api//orders/17?x=/y');
  t.same(
    [1, 2, 3, 4].map(number => target.segment(number)),
    ['api', 'orders', '17', ''],
  );
  t.equal(read('/').segment(1), '');
  t.equal(read('/a/').segment(2), '');
});

t.test('the first parameter with a name counts, however it is written', async t => {
  const target = read('/a?x=1&x=2&api%5Fkey=k+1&a=%C3%A9&b&c=&d=%zz&&e=f=g#h');
  const values = { x: '1', api_key: 'k 1', a: 'é', b: '', c: '', d: '%zz', e: 'f=g', missing: '' };
  for (const [name, value] of Object.entries(values)) t.equal(target.parameter(name), value, name);
  t.equal(read('/a?a+b=1').parameter('a b'), '1');
  t.equal(read('/a').parameter('x'), '');
  t.equal(read('/a#?x=1').parameter('x'), '', 'a fragment has no parameters');
});

t.test('an object reads one target after the other', async t => {
  const target = read('/a?x=1');
  target.read('/b');
  t.equal(target.path, '/b');
  t.equal(target.parameter('x'), '');
  target.clear();
  t.equal(target.path, '');
  t.equal(target.segment(1), '');
});

t.test('a target that is too long is cut off', async t => {
  t.equal(read(`/${'a'.repeat(100_000)}`).path.length, 65_536);
});
