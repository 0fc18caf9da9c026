import t, { type Test } from 'tap';
import { clusterFor } from '../support/redis-cluster.ts';
import { redisFor } from '../support/redis-server.ts';
import { readEvents } from '../support/server-events.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

const RULES =
  'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: year, requests_per_unit: 1}\n';

async function started(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { BACKEND_TYPE: 'redis', ...env } });
}

const ADMIN_TOKEN = 'a-token-for-this-test';

interface Known {
  readonly id: string;
  readonly pid: number;
  readonly is_this: boolean;
  readonly seen: string;
}

/** Waits until a process knows this number of processes, itself included. */
async function knows(service: ServiceProcess, count: number): Promise<readonly Known[]> {
  const reader = await readEvents(service.debug);
  const known = await reader.event(({ name, data }) => name === 'status' && data.processes.length === count);
  reader.close();
  return known.data.processes;
}

t.test(
  'processes that share a Redis know each other, with a token or not, until one stops or is killed',
  async t => {
    const redis = await redisFor(t);
    const env = { REDIS_URL: redis.address };
    const one = await started(t, { ...env, ADMIN_TOKEN });
    const two = await started(t, { ...env, ADMIN_TOKEN });
    const three = await started(t, env);

    const processes = await knows(one, 3);
    t.same(
      processes.map(({ is_this }) => is_this),
      [true, false, false],
    );
    t.equal(new Set(processes.map(({ pid }) => pid)).size, 3);
    t.match(processes[1], {
      host: String,
      started: /Z$/,
      version: /^\d+\./,
      rules_loaded: /Z$/,
      rules_digest: /^[0-9a-f]{64}$/,
      rules_error: null,
    });
    t.ok(Math.abs(Date.parse(processes[1].seen) - Date.now()) < 15_000);
    t.same(new Set((await knows(two, 3)).map(({ id }) => id)), new Set(processes.map(({ id }) => id)));

    await two.terminate();
    t.equal((await knows(one, 2)).length, 2, 'a process that stops removes itself');
    await three.terminate('SIGKILL');
    t.equal((await knows(one, 1)).length, 1, 'a process that was killed expires');
  },
);

t.test('processes that share a cluster know each other', async t => {
  const cluster = await clusterFor(t);
  const env = { REDIS_TYPE: 'cluster', REDIS_URL: cluster.address };
  const one = await started(t, { ...env, ADMIN_TOKEN });
  const two = await started(t, env);
  t.equal((await knows(one, 2)).length, 2);
  t.equal((await knows(two, 2)).length, 2);
});
