import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { envoyMissing } from '../support/envoy.ts';
import { freePort } from '../support/free-port.ts';
import { CountingUpstream, quotaProxy, SteadyLoad } from '../support/quota/envoy-fleet.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

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

/** `for` of the rules. */
const GRANT_MS = 30_000;

/** Requests per second of each user to each proxy. */
const DEMAND = [600, 300, 100];

/** Of 500 requests a second. On a quiet machine it is 470, but others may be busy on it, so that fewer are sent. */
const MUCH = 200;

/** How far back a rate is looked at while it is waited for: Envoy 1.40 reports every five seconds. */
const RECENT_MS = 5_000;

function sum(rates: readonly number[]): number {
  return rates.reduce((total, rate) => total + rate, 0);
}

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
    const recently = () => rates(Date.now() - RECENT_MS);
    // Envoy decides and reports by its own clock, so what it admits in a time can only be seen by waiting for that time.
    const observed = async (ms: number) => {
      const fromMs = Date.now();
      await pause(ms);
      return rates(fromMs);
    };

    await until(() => {
      const [most, next, least] = recently();
      return least > 50 && Math.max(most, next) < 2 * Math.min(most, next) && sum([most, next, least]) < 505;
    });
    const shares = await observed(30_000);
    t.comment(`ann: ${shares} of 500 a second; bob: ${upstream.perWindow('bob', 60_000)}`);
    const [most, next, least] = shares;
    t.ok(least > 50, `${least}: who wants less than an equal part gets it`);
    t.ok(
      Math.max(most, next) < 2 * Math.min(most, next),
      `${most} and ${next}: the others get similar parts`,
    );
    t.ok(sum(shares) > MUCH && sum(shares) <= 505, `${sum(shares)} of 500`);

    await Promise.all(sluices.map(sluice => sluice.terminate('SIGKILL')));
    const killedMs = Date.now();
    const alone = await observed(20_000);
    t.comment(`without Sluice: ${alone}`);
    t.ok(sum(alone) > MUCH / 2 && sum(alone) <= 505, `${sum(alone)} of 500 a second without Sluice`);

    sluices = await Promise.all(ports.map(start));
    // An Envoy opens another stream when it reports. What the dead ones had paid for is not given again before it ends, and
    // rates are looked at from then on.
    await until(() => Date.now() > killedMs + GRANT_MS + RECENT_MS && sum(recently()) > MUCH);
    const again = await observed(10_000);
    t.comment(`again: ${again}`);
    t.ok(sum(again) > MUCH, `${sum(again)} of 500 again`);

    const before = Math.max(shares[1], again[1]);
    await proxies[0].envoy.kill();
    for (const load of loads[0]) load.stop();
    // What the dead one was granted is free when it ends.
    await until(() => recently()[1] > 1.2 * before);
    const [, second, third] = await observed(10_000);
    t.comment(`two are left: ${second} and ${third}`);
    t.ok(second > 1.2 * before, `${second} instead of ${before}: who wants more gets what has become free`);
    t.ok(second + third > MUCH, `${second + third} of the 400 that are wanted`);

    const ann = upstream.perWindow('ann', 1_000);
    const bob = upstream.perWindow('bob', 60_000);
    t.comment(`ann: ${ann}; bob: ${bob}`);
    for (const load of loads) for (const each of load) each.stop();
    t.ok(Math.max(...ann) <= 1_000, 'each proxy may save up one fill of its token bucket');
    t.ok(Math.max(...bob) <= 20_000 * 1.01, `${bob} of 20,000 a minute`);
  },
);
