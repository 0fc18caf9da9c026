import t from 'tap';
import {
  callbackHeaders,
  givenHeaders,
  keptHeaders,
  targetOf,
  traceOf,
  traceTextOf,
  withGivenHeaders,
} from '../../../../src/tasks/model/task-headers.ts';

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1, b=2',
};
const READ = { ...TRACE, tracestate: 'a=1,b=2' };
const URL = 'https://example.com/';

t.test('a task keeps its URL and its trace context beside its headers', async t => {
  const kept = keptHeaders({ x: 'y' }, { url: URL, trace: TRACE });
  t.same([targetOf(kept), traceOf(kept), givenHeaders(kept)], [URL, READ, { x: 'y' }]);
  const plain = { x: 'y' };
  t.equal(givenHeaders(plain), plain);
  t.same(keptHeaders(plain, {}), plain);
  t.same([targetOf(plain), traceOf(plain), traceTextOf(plain)], [null, null, null]);
});

t.test('other headers leave the URL and the trace context in place', async t => {
  const changed = withGivenHeaders(keptHeaders({ x: 'y' }, { url: URL, trace: TRACE }), { z: '1' });
  t.same([targetOf(changed), traceOf(changed), givenHeaders(changed)], [URL, READ, { z: '1' }]);
  t.same(withGivenHeaders({ x: 'y' }, {}), {});
});

t.test('a callback has the trace context of its task, and nothing else', async t => {
  const kept = keptHeaders({ x: 'y' }, { url: URL, trace: { ...TRACE, tracestate: '' } });
  const headers = callbackHeaders(traceTextOf(kept) ?? undefined);
  t.same([targetOf(headers), traceOf(headers), givenHeaders(headers)], [null, traceOf(kept), {}]);
  t.same(callbackHeaders(undefined), {});
});
