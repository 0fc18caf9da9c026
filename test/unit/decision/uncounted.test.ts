import t from 'tap';
import type { Uncounted } from '../../../src/decision/evaluate.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { embeddedStore } from '../../support/stores.ts';

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
  const store = new FailingStore(embeddedStore());
  for (const key of ['k_lost', 'none_x', 'shadow_x']) store.uncountable.add(`d_${key}_1699999200`);
  return new Decisions({ store, rules: RULES, options: { uncounted, ...options }, localCacheBytes: 524_288 });
}

t.test('without a count a request is refused, unless something else is chosen', async t => {
  const refusing = decisions('refuse');
  await t.rejects(refusing.ask(request('d', 'k=lost')), { code: 'store_failed', message: /uncountable/ });
  t.equal(refusing.counter('ratelimit.service.call.should_rate_limit.redis_error'), 1);
});

t.test('allow takes the count as 0, and counts nothing in the statistics of the rule', async t => {
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
});

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

t.test('a refund that cannot be counted is refused, or OK with all or nothing left', async t => {
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
});

t.test('requests of one batch are decided each by its own keys', async t => {
  const denying = decisions('deny');
  const [lost, counted] = await Promise.all([
    denying.ask(request('d', 'k=lost')),
    denying.ask(request('d', 'k=counted')),
  ]);
  t.match([lost, counted], [{ overallCode: 2 }, { overallCode: 1 }]);
});

const ADMITTING = `
domain: d
descriptors:
  - key: bucket
    rate_limit: { window: 1m, requests_per_unit: 60, algorithm: token_bucket, burst: 9 }
  - key: sliding
    rate_limit: { window: 5m, requests_per_unit: 9, algorithm: sliding_window }
  - key: several
    rate_limits:
      - { name: hour, unit: hour, requests_per_unit: 9 }
      - { name: bucket, window: 1m, requests_per_unit: 60, algorithm: token_bucket, burst: 90 }
`;

/** Decisions on a store that has no level for the keys of admitted hits. */
function admitting(uncounted: Uncounted): Decisions {
  const store = new FailingStore(embeddedStore());
  for (const key of ['bucket_x_~1m.bucket', 'sliding_x_~5m.sliding', 'several_x_~1m.bucket']) {
    store.uncountable.add(`d_${key}`);
  }
  return new Decisions({ store, rules: ADMITTING, options: { uncounted }, localCacheBytes: 524_288 });
}

t.test('buckets and sliding windows without a level are unused, or used up', async t => {
  for (const [mode, hits, status] of [
    ['allow', 1, { code: 1, limitRemaining: 8 }],
    ['allow', 10, { code: 2, limitRemaining: 0 }],
    ['deny', 1, { code: 2, limitRemaining: 0 }],
  ] as const) {
    for (const key of ['bucket', 'sliding']) {
      const answering = admitting(mode);
      const asked = { ...request('d', `${key}=x`), hitsAddend: hits };
      for (let i = 0; i < 2; i++)
        t.match(await answering.ask(asked), { statuses: [status] }, `${mode}: ${key}`);
      t.same(answering.rule(`d.${key}`), { total_hits: 2 * hits });
    }
  }
  const allowing = admitting('allow');
  t.match(await allowing.ask(request('d', 'bucket=x')), { statuses: [{ durationUntilReset: 1 }] });
  t.match(await allowing.ask(refund('d', 3, 'bucket=x')), { statuses: [{ code: 1, limitRemaining: 9 }] });
  t.match(await admitting('deny').ask(refund('d', 3, 'sliding=x')), { statuses: [{ limitRemaining: 0 }] });
});

t.test('one of several limits without a count decides with the others', async t => {
  await t.rejects(admitting('refuse').ask(request('d', 'several=x')), {
    code: 'store_failed',
    message: /`d_several_x_~1m\.bucket`/,
  });
  t.match(await admitting('allow').ask(request('d', 'several=x')), {
    statuses: [{ code: 1, currentLimit: { name: 'hour' }, limitRemaining: 8 }],
  });
  t.match(await admitting('deny').ask(request('d', 'several=x')), {
    statuses: [{ code: 2, currentLimit: { name: 'bucket' }, limitRemaining: 0 }],
  });
});
