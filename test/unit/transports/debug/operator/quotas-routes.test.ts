import type { Test } from 'tap';
import type { DeskQuestion } from '../../../../../src/quota/desk-view.ts';
import type { BucketExplainer } from '../../../../../src/quota/explain-bucket.ts';
import type { LookAtQuotas } from '../../../../../src/quota/merged-view.ts';
import { quotasRoutes } from '../../../../../src/transports/debug/operator/counters/quotas-routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { onEachEngine } from '../../http/on-each-engine.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

const NOTHING = {
  streams: 0,
  totals: { demand: 0, allowed: 0, denied: 0, buckets: 0, proxies: 0 },
  buckets: [],
};

/** Explains every bucket as one that no rule has. */
const EXPLAINER: Pick<BucketExplainer, 'explain'> = {
  explain: (domain, entries) =>
    domain === 'none'
      ? null
      : { entries, verdict: 'allow_all', reason: 'no_keys', limits: [], rate: null, grantS: 0 },
};

async function served(t: Test, look: LookAtQuotas | null) {
  const clock = new ManualClock(1_700_000_000_000);
  const operator = operatorApi({ routes: quotasRoutes(look && { look, explainer: EXPLAINER }), clock });
  return askingOperator(await startedDebugServer(t, clock, { operator }));
}

onEachEngine('a store that cannot grant quotas is named, with those that can', async t => {
  const ask = await served(t, null);
  t.match(await ask('/quotas'), {
    status: 501,
    json: {
      code: 'not_supported',
      detail: 'The counter store cannot grant quotas: set BACKEND_TYPE to redis or memory.',
    },
  });
});

onEachEngine('the query says which buckets are looked at, and how many', async t => {
  const questions: DeskQuestion[] = [];
  const ask = await served(t, async question => {
    questions.push(question);
    return { view: NOTHING, isComplete: false };
  });
  t.match((await ask('/quotas')).json, { complete: false });
  await ask('/quotas?domain=api&count=7');
  await ask('/quotas?domain=api&descriptor=user=ann,plan=free');
  t.same(questions, [
    { domain: null, names: null, most: 100, mostProxies: 10 },
    { domain: 'api', names: null, most: 7, mostProxies: 10 },
    { domain: 'api', names: ['["api",["plan","free"],["user","ann"]]'], most: 1, mostProxies: 500 },
  ]);
  for (const query of ['count=0', 'count=501', 'domain=', 'q=x', 'descriptor=user=ann'])
    t.equal((await ask(`/quotas?${query}`)).status, 400, query);
  t.equal(questions.length, 3, 'nothing is looked at for a wrong query');
});

onEachEngine('looks follow each other, also after one that has failed', async t => {
  let running = 0;
  let most = 0;
  let count = 0;
  const ask = await served(t, async () => {
    count++;
    running++;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running--;
    if (count === 1) throw new Error('a bug');
    return { view: NOTHING, isComplete: true };
  });
  const statuses = (await Promise.all([ask('/quotas'), ask('/quotas'), ask('/quotas')])).map(
    ({ status }) => status,
  );
  t.same(statuses.sort(), [200, 200, 500]);
  t.equal(most, 1);
});

onEachEngine('a bucket is explained if it is one, and if there are rules', async t => {
  const ask = await served(t, async () => ({ view: NOTHING, isComplete: true }));
  const explain = (domain: string, entries: readonly object[]) =>
    ask('/quotas/explain', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ domain, entries }),
    });
  t.match(await explain('api', [{ key: 'user', value: 'ann' }]), {
    status: 200,
    json: {
      entries: [{ key: 'user', value: 'ann' }],
      verdict: 'allow_all',
      reason: 'no_keys',
      why: 'no rule of the domain has exactly these keys',
      rate: null,
      grant_seconds: 0,
      limits: [],
    },
  });
  t.match(await explain('api', [{ key: 'user' }]), {
    status: 422,
    json: { detail: '/entries: every entry of a bucket has a value.', errors: [{ pointer: '/entries' }] },
  });
  const twice = [
    { key: 'user', value: 'ann' },
    { key: 'user', value: 'bob' },
  ];
  t.match(await explain('api', twice), {
    status: 422,
    json: { detail: '/entries: a bucket has each key once.' },
  });
  t.match(await explain('none', [{ key: 'user', value: 'ann' }]), {
    status: 503,
    json: { code: 'no_rules' },
  });
});
