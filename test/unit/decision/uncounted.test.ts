import t from 'tap';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import type { Uncounted } from '../../../src/decision/evaluate.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { FailingStore } from '../../support/failing-store.ts';

const RULES = `
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 9 }
  - key: none
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: shadow
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 9 }
  - key: free
    rate_limit: { unlimited: true }
`;

/** Decisions on a store that has no count for the key of `k=lost` and of every value of `none` and `shadow`. */
function decisions(uncounted: Uncounted, options = {}): Decisions {
  const store = new FailingStore(new EmbeddedCounterStore(CounterTable.create(1_024)));
  for (const key of ['k_lost', 'none_x', 'shadow_x']) store.uncountable.add(`d_${key}_1699999200`);
  return new Decisions({ store, rules: RULES, options: { uncounted, ...options }, localCacheBytes: 524_288 });
}

t.test('without a count a request is refused, unless something else is chosen', async t => {
  const refusing = decisions('refuse');
  await t.rejects(refusing.ask(request('d', 'k=lost')), { code: 'store_failed', message: /uncountable/ });
  t.equal(refusing.counter('ratelimit.service.call.should_rate_limit.redis_error'), 1);
});

t.test(
  'allow takes the count as 0, and says nothing about the hits in the statistics of the rule',
  async t => {
    const allowing = decisions('allow');
    for (let i = 0; i < 20; i++) {
      t.match(await allowing.ask(request('d', 'k=lost')), {
        overallCode: 1,
        statuses: [{ code: 1, limitRemaining: 8, currentLimit: { requestsPerUnit: 9 } }],
      });
    }
    t.same(allowing.rule('d.k'), { total_hits: 20 });
    const more = { ...request('d', 'k=lost'), descriptors: [descriptor('k=lost', { hitsAddend: 10 })] };
    t.match(
      await allowing.ask(more),
      { overallCode: 2, statuses: [{ code: 2, limitRemaining: 0 }] },
      'ten hits of nine',
    );
    t.match(await allowing.ask(request('d', 'none=x')), { overallCode: 2 }, 'a limit of 0 blocks all');
  },
);

t.test('deny takes the limit as used up, and neither statistics nor the local cache learn of it', async t => {
  const denying = decisions('deny');
  t.match(await denying.ask(request('d', 'k=lost')), {
    overallCode: 2,
    statuses: [{ code: 2, limitRemaining: 0, currentLimit: { requestsPerUnit: 9 } }],
  });
  t.match(await denying.ask(request('d', 'k=lost')), { overallCode: 2 });
  t.same(denying.rule('d.k'), { total_hits: 2 });
});

t.test('deny leaves alone what no count decides, and a rule in shadow mode lets pass', async t => {
  const denying = decisions('deny');
  const response = await denying.ask(request('d', 'k=counted', 'free=x', 'shadow=x', 'other=x'));
  t.match(response, {
    overallCode: 1,
    statuses: [{ code: 1, limitRemaining: 8 }, { code: 1 }, { code: 1, limitRemaining: 0 }, { code: 1 }],
  });
  t.same(denying.rule('d.shadow'), { total_hits: 1 });
  const shadowed = decisions('deny', { modes: { shadow: true, quota: false } });
  t.match(await shadowed.ask(request('d', 'k=lost')), { overallCode: 1, statuses: [{ code: 2 }] });
});

t.test(
  'a refund that cannot be counted is refused, or is OK with the whole limit or nothing left',
  async t => {
    await t.rejects(decisions('refuse').ask(refund('d', 2, 'k=lost')), { code: 'store_failed' });
    for (const [mode, limitRemaining] of [
      ['allow', 9],
      ['deny', 0],
    ] as const) {
      const answering = decisions(mode);
      const answer = { overallCode: 1, statuses: [{ code: 1, limitRemaining }] };
      t.match(await answering.ask(refund('d', 2, 'k=lost')), answer, mode);
      t.same(answering.rule('d.k'), { total_negative_hits: 2 }, mode);
    }
  },
);

t.test('requests of one batch are decided each by its own keys', async t => {
  const denying = decisions('deny');
  const [lost, counted] = await Promise.all([
    denying.ask(request('d', 'k=lost')),
    denying.ask(request('d', 'k=counted')),
  ]);
  t.match([lost, counted], [{ overallCode: 2 }, { overallCode: 1 }]);
});
