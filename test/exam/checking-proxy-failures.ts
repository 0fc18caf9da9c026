import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
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
export async function runCheckingFailureExam(
  t: Test,
  { start, confusesRefusals = false }: CheckingProxy,
): Promise<void> {
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
    // A proxy that takes the refusals for failures leaves an instance alone for 2 s.
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      await pause(100);
      statuses.push((await ask(front, '/')).status);
    }
    t.same([...new Set(statuses)], [503]);
  });

  await t.test('a 503 that no rule has asked for lets requests pass', { skip: confusesRefusals }, async t => {
    const service = await serviceFor(t, { rules: websiteRules('deny'), env: { HTTP_MAX_CONNECTIONS: '1' } });
    const [host, port] = service.http.split(':');
    const only = connect(Number(port), host);
    t.teardown(() => only.destroy());
    await once(only, 'connect');
    const behind = { instances: [service.http], website: await startWebsite(t), timeout: '10s' } as const;
    const front = await start(t, behind);
    t.match(await askTimes(3, front, '/'), Array(3).fill({ status: 200, rateLimit: undefined }));
  });

  await t.test(
    'instances that do not answer let requests pass, and each is asked of one of them',
    async t => {
      const silent = [await SilentServer.start(t), await SilentServer.start(t)];
      const instances = silent.map(({ address }) => address);
      const front = await start(t, { instances, website: await startWebsite(t), timeout: '100ms' });
      const checks = () => silent[0].checks + silent[1].checks;
      const before = checks();
      t.equal((await ask(front, '/')).status, 200);
      t.ok(checks() <= before + 1, 'a check that is sent twice may count twice');
      t.same(statusesOf(await askTimes(3, front, '/')), [200, 200, 200]);
    },
  );

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

/** A server that accepts connections and answers nothing. */
class SilentServer {
  /** The checks that it has received. */
  checks = 0;

  /** `host:port`. */
  readonly address: string;

  private constructor(address: string) {
    this.address = address;
  }

  static async start(t: Test): Promise<SilentServer> {
    const tcp = createServer();
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    t.teardown(() => tcp.close());
    const server = new SilentServer(`127.0.0.1:${(tcp.address() as AddressInfo).port}`);
    tcp.on('connection', socket => {
      socket.on('error', () => {});
      socket.on('data', bytes => {
        if (bytes.toString('latin1').startsWith('GET /check/')) server.checks++;
      });
      t.teardown(() => socket.destroy());
    });
    return server;
  }
}
