import type { Test } from 'tap';
import { type Clock, systemClock } from '../../../../src/base/clock.ts';
import { Fault } from '../../../../src/base/fault.ts';
import type { Explanation } from '../../../../src/decision/explain/explain-descriptor.ts';
import {
  EXPLANATION_INTERVAL_MS,
  type Explain,
  MAX_BODY_BYTES,
  MAX_CONCURRENT_EXPLANATIONS,
} from '../../../../src/transports/debug/explain-route.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';
import { readIndependently } from '../../messages/independent-codec.ts';
import { onEachEngine } from '../http/on-each-engine.ts';
import { startedDebugServer } from './debugging.ts';

const EXPLANATION: Explanation = {
  domain: 'shop',
  time: '2023-11-14T22:13:20.000Z',
  descriptors: [],
  answer: { overallCode: 'OVER_LIMIT' },
};

const BODY = '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}';

/** Posts to `/explain` of a debug server with this explainer. */
async function explaining(t: Test, explain: Explain, clock: Clock = systemClock) {
  const server = await startedDebugServer(t, clock, { explain });
  return async (body = BODY, method = 'POST') => {
    const request = method === 'GET' ? { method } : { method, body };
    const response = await fetch(`http://127.0.0.1:${server.port}/explain`, request);
    return { status: response.status, body: await response.json() };
  };
}

onEachEngine(
  'the body is that of /json, the answer is the explanation, with 200 whatever the answer would be',
  async t => {
    const asked: unknown[] = [];
    const post = await explaining(t, async request => {
      asked.push(readIndependently(request).descriptors[0].entries);
      return EXPLANATION;
    });
    t.same(await post(), { status: 200, body: EXPLANATION });
    t.same(asked, [[{ key: 'user', value: 'ann' }]]);
  },
);

onEachEngine('a body that is no request is refused as /json does', async t => {
  const post = await explaining(t, () => Promise.reject(new Error('not asked')));
  const { status, body } = await post('{"domain":"shop","descriptors":[{"entires":[]}]}');
  t.equal(status, 400);
  t.match(body, { error: { code: 'unparseable', message: /entires/, path: 'descriptors[0]' } });
  t.match(await post('', 'GET'), { status: 405 });
});

onEachEngine('faults have the statuses that they have there', async t => {
  const faults: Fault[] = [
    new Fault('bad_request', 'no domain'),
    new Fault('no_rules', 'none yet'),
    new Fault('store_failed', 'Redis is away'),
  ];
  const post = await explaining(t, () => Promise.reject(faults.shift()));
  t.match(await post(), { status: 400, body: { error: { code: 'bad_request', message: 'no domain' } } });
  t.match(await post(), { status: 503, body: { error: { code: 'no_rules' } } });
  t.match(await post(), { status: 503, body: { error: { code: 'store_failed' } } });
});

onEachEngine('a defect is answered as one, and the next request is served', async t => {
  let broken = true;
  const post = await explaining(t, async () => {
    if (broken) throw new Error('secret');
    return EXPLANATION;
  });
  const { status, body } = await post();
  t.equal(status, 500);
  t.notMatch(JSON.stringify(body), 'secret');
  broken = false;
  t.match(await post(), { status: 200 });
});

onEachEngine('the number of concurrent explanations is limited', async t => {
  const all = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let running = 0;
  const post = await explaining(t, async () => {
    if (++running === MAX_CONCURRENT_EXPLANATIONS) all.resolve();
    await release.promise;
    return EXPLANATION;
  });
  const first = Array.from({ length: MAX_CONCURRENT_EXPLANATIONS }, () => post());
  await all.promise;
  t.match(await post(), { status: 503, body: { error: { code: 'overloaded' } } });
  release.resolve();
  for (const { status } of await Promise.all(first)) t.equal(status, 200);
  t.match(await post(), { status: 200 });
});

onEachEngine(
  'a body that is too large is refused before it is read, and the next request is served',
  async t => {
    const post = await explaining(t, async () => EXPLANATION);
    const { status, body } = await post(BODY.padEnd(MAX_BODY_BYTES + 1));
    t.equal(status, 413);
    t.match(body, { error: { code: 'body_too_large', message: /65536 bytes: explain fewer descriptors/ } });
    t.match(await post(BODY.padEnd(MAX_BODY_BYTES)), { status: 200 });
  },
);

onEachEngine('explanations leave decisions time between one and the next', async t => {
  const clock = new ManualClock(1_000);
  const startedMs: number[] = [];
  const started = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const explain = async (): Promise<Explanation> => {
    startedMs.push(clock.nowMs());
    started[startedMs.length - 1].resolve();
    return EXPLANATION;
  };
  const post = await explaining(t, explain, clock);
  const answers = [post(), post(), post()];
  await started[0].promise;
  await until(() => clock.pendingDelaysMs.filter(ms => ms <= 2 * EXPLANATION_INTERVAL_MS).length === 2);
  t.same(startedMs, [1_000]);
  for (const each of started.slice(1)) {
    clock.advance(EXPLANATION_INTERVAL_MS);
    await each.promise;
  }
  t.same(startedMs, [1_000, 1_000 + EXPLANATION_INTERVAL_MS, 1_000 + 2 * EXPLANATION_INTERVAL_MS]);
  for (const { status } of await Promise.all(answers)) t.equal(status, 200);
});
