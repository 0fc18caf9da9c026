import t from 'tap';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { descriptor, request } from '../../../support/decisions.ts';
import { each } from '../../../support/each.ts';
import { FailingStore } from '../../../support/failing-store.ts';
import { WatchedDecisions } from '../../../support/hot-keys.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: noisy
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: quiet
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: bucket
    rate_limits:
      - { window: 1m, requests_per_unit: 2, burst: 3, algorithm: token_bucket }
  - key: budget
    holder: id
    rate_limit: { unit: hour, requests_per_unit: 4, scale: 10, reserve: { for: 5m } }
`;

function watched(): WatchedDecisions {
  const store = new FailingStore(embeddedStore());
  store.uncountable.add('d_noisy_lost_1699999200');
  return new WatchedDecisions({ store, rules: RULES });
}

t.test('a refusal names rule, key, count and limit, and the caller if it is known', async t => {
  const to = watched();
  const { batcher, clock } = to.decisions;
  await new Promise<void>((resolve, reject) => {
    batcher.decide(encodeRateLimitRequest(request('d', 'noisy=a')), 'protobuf', {
      gone: false,
      origin: { peer: '192.0.2.7', traceId: '0af7651916cd43dd8448eb211c80319c' },
      answered: () => resolve(),
      refused: reject,
    });
  });
  t.same(to.refusals.recent(9), [
    {
      timeMs: clock.nowMs(),
      path: 'd.noisy',
      key: 'noisy=a',
      domain: 'd',
      entries: [{ key: 'noisy', value: 'a' }],
      hits: 1,
      count: 1,
      held: null,
      requestsPerUnit: 0,
      most: 0,
      isShadow: false,
      isPenalized: false,
      isBanned: false,
      peer: '192.0.2.7',
      traceId: '0af7651916cd43dd8448eb211c80319c',
    },
  ]);
});

t.test('a token bucket is compared with its burst', async t => {
  const to = watched();
  await to.decisions.ask({ ...request('d', 'bucket=a'), hitsAddend: 4 });
  for (let hit = 0; hit < 4; hit++) await to.decisions.ask(request('d', 'bucket=b'));
  t.match(to.refusals.recent(9), [
    { key: 'bucket=b', count: 3, requestsPerUnit: 2, most: 3 },
    { key: 'bucket=a', requestsPerUnit: 2, most: 3 },
  ]);
});

t.test('of a limit with leases, it is told what they hold, in the unit of the rule', async t => {
  const to = watched();
  const call = (id: string, hitsAddend: number) =>
    to.decisions.ask(request('d', descriptor(`budget=b,id=${id}`, { hitsAddend })));
  await call('1', 10);
  await call('1', 5);
  await call('2', 20);
  await call('3', 16);
  t.match(to.refusals.recent(9), [{ path: 'd.budget', count: 2.5, held: 2, requestsPerUnit: 4, most: 4 }]);
});

t.test('refusals can be read from a time on', async t => {
  const to = watched();
  await to.decisions.ask(request('d', 'noisy=a'));
  to.decisions.clock.advance(2);
  const sinceMs = to.decisions.clock.nowMs();
  await to.decisions.ask(request('d', 'noisy=b', 'quiet=c'));
  t.match(to.refusals.since(sinceMs, 9), [{ key: 'quiet=c' }, { key: 'noisy=b' }]);
  t.equal(to.refusals.since(sinceMs, 9).length, 2);
  t.equal(to.refusals.since(sinceMs, 1).length, 1);
  t.same(to.refusals.since(sinceMs + 1, 9), []);
});

t.test('the latest refusals come first, and those of limits in shadow mode say so', async t => {
  const to = watched();
  await to.decisions.ask(request('d', 'noisy=a', 'quiet=b'));
  to.decisions.clock.advance(1);
  await to.decisions.ask(request('d', 'noisy=c'));
  t.match(to.refusals.recent(9), [
    { key: 'noisy=c', isShadow: false },
    { key: 'quiet=b', isShadow: true },
    { key: 'noisy=a' },
  ]);
  t.equal(to.refusals.recent(1).length, 1);
});

t.test('a flood of refusals of one rule leaves those of the others', async t => {
  const to = watched();
  await to.decisions.ask(request('d', 'quiet=b'));
  for (let i = 0; i < 1_000; i++) {
    to.decisions.clock.advance(5);
    await to.decisions.ask(request('d', `noisy=${i}`));
  }
  t.equal(to.refusals.recent(1)[0].key, 'noisy=999');
  t.match(to.refusals.recent(9, to.limit('d.quiet')), [{ key: 'quiet=b' }]);
});

t.test('in a tenth of a second, 20 refusals are recorded, and the first of each other rule', async t => {
  const to = watched();
  for (let i = 0; i < 50; i++) await to.decisions.ask(request('d', 'noisy=a'));
  await to.decisions.ask(request('d', 'quiet=b'));
  t.equal(to.refusals.recent(100).length, 21);
  to.decisions.clock.advance(100);
  await to.decisions.ask(request('d', 'noisy=a'));
  t.equal(to.refusals.recent(100).length, 22);
});

t.test('a request that got a fault was not refused, also if the batch before it was', async t => {
  const to = watched();
  await to.decisions.ask(request('d', 'noisy=a'));
  await t.rejects(to.decisions.ask(request('d', 'noisy=lost')));
  t.same(each(to.refusals.recent(9), 'key'), ['noisy=a']);
  t.match(to.hotKeys.top(to.limit('d.noisy'), 'minute', 9).keys, [{ key: 'noisy=a', hits: 1 }]);
});
