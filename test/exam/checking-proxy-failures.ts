import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Test } from 'tap';
import { ask, askTimes, statusesOf } from '../support/proxies/checking/client.ts';
import { websiteRules } from '../support/proxies/checking/rules.ts';
import { Load } from '../support/proxies/load.ts';
import { Place } from '../support/proxies/place.ts';
import { startWebsite } from '../support/proxies/website.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import type { CheckingProxy } from './checking-proxy.ts';

/** What becomes of requests while something fails behind the proxy. */
export async function runCheckingFailureExam(t: Test, { start }: CheckingProxy): Promise<void> {
  await t.test('while the store is unavailable, the rules say what clients get', async t => {
    const redis = await redisFor(t);
    const root = writeRules(tempDirectory(t), websiteRules());
    const service = await serviceFor(t, {
      env: {
        RUNTIME_ROOT: root,
        RUNTIME_WATCH_ROOT: 'false',
        BACKEND_TYPE: 'redis',
        REDIS_URL: redis.address,
      },
    });
    const behind = { instances: [service.http], website: await startWebsite(t), timeout: '10s' } as const;
    const front = await start(t, behind);
    t.match(await ask(front, '/'), { status: 200, rateLimit: /website/ });
    await loseStore(service, () => redis.kill());
    t.match(await ask(front, '/'), { status: 200, rateLimit: undefined });
    writeRules(root, websiteRules('deny'));
    await until(async () => (await ask(front, '/')).status === 503);
  });

  await t.test('an instance that does not answer lets requests pass', async t => {
    const instances = [await startSilent(t)];
    const front = await start(t, { instances, website: await startWebsite(t), timeout: '100ms' });
    t.same(statusesOf(await askTimes(3, front, '/')), [200, 200, 200]);
  });

  await t.test('the restart of one of two instances leaves no request undecided', async t => {
    const env = { RUNTIME_ROOT: writeRules(tempDirectory(t), websiteRules()) };
    const places = await Promise.all([0, 1].map(() => Place.open(t, env)));
    const instances = places.map(({ http }) => http);
    const front = await start(t, { instances, website: await startWebsite(t), timeout: '10s' });
    const askOnce = async () => {
      const { status, rateLimit } = await ask(front, '/');
      if (status !== 200 || rateLimit === undefined) throw new Error(`answered ${status}: ${rateLimit}`);
    };
    const load = new Load([askOnce, askOnce, askOnce, askOnce]);
    await load.goesOn(100);
    await places[0].service.terminate();
    await load.goesOn(100);
    await places[0].start();
    await load.goesOn(100);
    await load.end();
    t.same(load.failures, []);
  });
}

async function loseStore(service: ServiceProcess, kill: () => Promise<void>): Promise<void> {
  const lost = service.logged(line => /^Redis connection lost/.test(String(line['@message'])));
  await kill();
  await lost;
}

/** A server that accepts connections and answers nothing; returns its `host:port`. */
async function startSilent(t: Test): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
