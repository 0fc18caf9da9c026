import type { Test } from 'tap';
import type { RedisServer } from '../redis-server.ts';
import type { ServiceProcess } from '../service.ts';
import { countsAre, startedRedis, statisticsAre } from './expect.ts';
import { examineCalls } from './model.ts';
import { loadOn, ruleSettings, startProcesses } from './setup.ts';

/**
 * Two processes with these settings on one Redis answer as if calls came one by one, and their statistics say so.
 * Returns them for more calls.
 */
export async function twoProcessesAreExact(
  t: Test,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly redis: RedisServer; readonly processes: readonly ServiceProcess[] }> {
  const redis = await startedRedis(t);
  const processes = await startProcesses(t, 2, {
    ...ruleSettings(t),
    REDIS_URL: redis.address,
    WORKER_THREADS: '0',
    ...env,
  });
  const load = loadOn(t, processes[0], { seed: 3 });
  await load.run(40);
  const verdict = examineCalls(load.calls);
  t.same(verdict.contradictions, []);
  await countsAre(t, redis, verdict);
  await statisticsAre(t, processes, verdict);
  return { redis, processes };
}
