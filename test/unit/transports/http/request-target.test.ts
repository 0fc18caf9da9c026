import t from 'tap';
import { readTarget } from '../../../../src/transports/http/node/node-request.ts';

t.test('a path with and without a query', t => {
  t.same(readTarget('/a?b=c?d'), { path: '/a', query: 'b=c?d', host: null });
  t.same(readTarget('/a?'), { path: '/a', query: '', host: null });
  t.same(readTarget('//a'), { path: '//a', query: '', host: null });
  t.end();
});

t.test('the absolute form names the host', t => {
  t.same(readTarget('http://a:1/b?c'), { path: '/b', query: 'c', host: 'a:1' });
  t.same(readTarget('HTTPS://[::1]'), { path: '/', query: '', host: '[::1]' });
  t.same(readTarget('http://a?b'), { path: '/', query: 'b', host: 'a' });
  t.end();
});

t.test('the server itself, and what is neither', t => {
  t.same(readTarget('*'), { path: '*', query: '', host: null });
  for (const target of ['a', '', 'ftp://a/', 'http:///a', 'http://u@a/', 'a:443'])
    t.equal(readTarget(target), null, target);
  t.end();
});
