import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { envoyMissing } from '../support/envoy.ts';
import { freePort } from '../support/free-port.ts';
import { CountingUpstream, quotaProxy, SteadyLoad } from '../support/quota/envoy-fleet.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

// Three real Envoys that decide by themselves, and two Sluices on one Redis. Only the upstream knows what was admitted.

const RULES = `domain: demo
descriptors:
  - key: user
    value: ann
    rate_limit: {unit: second, requests_per_unit: 500}
    quota: {for: 30s}
  - key: user
    value: bob
    rate_limit: {unit: minute, requests_per_unit: 20000}
    quota: {for: 30s}
`;

/** Requests per second of each user to each proxy. */
const DEMAND = [600, 300, 100];

/** Of 500 requests a second. On a quiet machine it is 470, but others may be busy on it, so that fewer are sent. */
const MUCH = 200;

/** Envoy 1.40 reports every five seconds. Two reports, and the time in which instances hear of each other. */
const REPORT_MS = 5_000;
const TWO_REPORTS_MS = 2 * REPORT_MS + 2_000;

t.test(
  'limits hold, and shares follow the demand, whatever dies',
  { skip: envoyMissing, timeout: 240_000 },
  async t => {
    const redis = await redisFor(t);
    const ports = [await freePort(), await freePort()];
    const start = (port: number): Promise<ServiceProcess> =>
      serviceFor(t, { rules: RULES, env: { KVCACHE_URL: redis.address, GRPC_PORT: String(port) } });
    let sluices = await Promise.all(ports.map(start));
    const upstream = await CountingUpstream.start(t);
    const instances = sluices.map(sluice => sluice.grpc);
    const proxies = await Promise.all(
      ['one', 'two', 'three'].map(name => quotaProxy(t, name, upstream, instances)),
    );
    const loads = proxies.map((proxy, i) =>
      ['ann', 'bob'].map(user => new SteadyLoad(t, proxy, user, DEMAND[i])),
    );
    const rates = (fromMs: number) =>
      proxies.map(({ name }) => Math.round(upstream.rateSince(fromMs, 'ann', name)));

    await pause(30_000);
    let fromMs = Date.now();
    await pause(30_000);
    t.comment(`ann: ${rates(fromMs)} of 500 a second; bob: ${upstream.perWindow('bob', 60_000)}`);
    const [most, next, least] = rates(fromMs);
    t.ok(least > 50, `${least}: who wants less than an equal part gets it`);
    t.ok(
      Math.max(most, next) < 2 * Math.min(most, next),
      `${most} and ${next}: the others get similar parts`,
    );
    t.ok(most + next + least > MUCH && most + next + least <= 505, `${most + next + least} of 500`);

    await Promise.all(sluices.map(sluice => sluice.terminate('SIGKILL')));
    fromMs = Date.now();
    await pause(20_000);
    t.comment(`without Sluice: ${rates(fromMs)}`);
    const alone = upstream.rateSince(fromMs, 'ann');
    t.ok(alone > MUCH / 2 && alone <= 505, `${alone} of 500 a second without Sluice`);

    sluices = await Promise.all(ports.map(start));
    // An Envoy opens another stream when it reports.
    await pause(REPORT_MS + TWO_REPORTS_MS);
    fromMs = Date.now();
    await pause(10_000);
    t.comment(`again: ${rates(fromMs)}`);
    const again = upstream.rateSince(fromMs, 'ann');
    t.ok(again > MUCH, `${again} of 500 again`);

    await proxies[0].envoy.kill();
    for (const load of loads[0]) load.stop();
    // What the dead one was granted is free when it ends.
    await pause(32_000 + TWO_REPORTS_MS);
    fromMs = Date.now();
    await pause(10_000);
    t.comment(`two are left: ${rates(fromMs)}`);
    const left = upstream.rateSince(fromMs, 'ann');
    t.ok(left > MUCH, `${left} of the 400 that are wanted`);

    const ann = upstream.perWindow('ann', 1_000);
    const bob = upstream.perWindow('bob', 60_000);
    t.comment(`ann: ${ann}; bob: ${bob}`);
    for (const load of loads) for (const each of load) each.stop();
    t.ok(Math.max(...ann) <= 1_000, 'each proxy may save up one fill of its token bucket');
    t.ok(Math.max(...bob) <= 20_000 * 1.01, `${bob} of 20,000 a minute`);
  },
);
