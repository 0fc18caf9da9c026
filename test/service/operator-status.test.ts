import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { callOperator } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { readEvents } from '../support/server-events.ts';
import { serviceFor } from '../support/service.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 1}
`;

const ASKED = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

/** Between two requests, so that others have the processor. */
const PAUSE_MS = 5;

/** Asks until a status has figures of decisions. */
async function eventsOf(t: Test, env: Readonly<Record<string, string>>) {
  const service = await serviceFor(t, { rules: RULES, env });
  const { json: first } = await callOperator(service, 'GET', '/status');
  const reader = await readEvents(service.debug);
  const rejected = reader.event(({ name }) => name === 'rejections');
  const measured = reader.event(
    ({ name, data }) => name === 'status' && data.latency.decision.p99_ms !== null && data.rates?.refused > 0,
  );
  let isAsking = true;
  const asking = (async () => {
    while (isAsking) {
      await askOverHttp(service.http, ASKED);
      await sleep(PAUSE_MS);
    }
  })();
  const events = { first, rejections: (await rejected).data, status: (await measured).data };
  isAsking = false;
  await asking;
  reader.close();
  return events;
}

t.test('the status of a process with counters of its own, and its rejections as they happen', async t => {
  const { first, rejections, status } = await eventsOf(t, {});
  t.match(first, {
    version: /^\d+\.\d+\.\d+/,
    process: { pid: Number, host: String, started: /Z$/ },
    healthy: true,
    store: { type: 'embedded', address: /embedded/, connected: true, failure_mode: 'error' },
    threads: { serving: 1, deciding: 0 },
    rules: { domains: 1, limits: 1, loaded: /Z$/, faults: 0 },
    latency: {
      decision: { p50_ms: null, p99_ms: null },
      store: { p50_ms: null },
      batch: { requests_p50: null },
    },
    admin: { changes: 'no_token' },
  });
  t.ok(first.components.some((each: { healthy: boolean }) => each.healthy));
  t.match(status.latency, { decision: { p50_ms: Number }, batch: { requests_p50: 1 } });
  t.match(status.processes, [{ is_this: true, hits_per_second: Number, pid: first.process.pid }]);
  t.match(rejections.refusals[0], { path: 'shop.user', key: 'user=ann', requests_per_unit: 1 });
});

t.test('with Redis and several serving threads, the part of the store is known', async t => {
  const redis = await redisFor(t);
  const { status } = await eventsOf(t, {
    REDIS_URL: redis.address,
    BACKEND_TYPE: 'redis',
    SERVE_THREADS: '2',
  });
  t.match(status, {
    store: { type: 'redis', address: /^Redis at / },
    threads: { serving: 2 },
    latency: { store: { p50_ms: Number } },
  });
  t.ok(status.latency.store.p50_ms <= status.latency.decision.p99_ms);
});

t.test('a decision thread measures as well', async t => {
  const { status } = await eventsOf(t, { WORKER_THREADS: '1' });
  t.match(status, { threads: { deciding: 1 }, latency: { decision: { p50_ms: Number } } });
});
