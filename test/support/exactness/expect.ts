import type { Test } from 'tap';
import { type RedisServer, redisFor } from '../redis-server.ts';
import type { ServiceProcess } from '../service.ts';
import type { Verdict } from './model.ts';
import { countsInRedis } from './setup.ts';
import { countedStatistics, expectedStatistics } from './statistics.ts';

/** A Redis that ends with the test. */
export async function startedRedis(t: Test): Promise<RedisServer> {
  const redis = await redisFor(t);
  return redis;
}

/** Redis holds the hits of all calls, and nothing else. */
export async function countsAre(t: Test, redis: RedisServer, verdict: Verdict): Promise<void> {
  t.same(await countsInRedis(redis, verdict.tallies.keys()), answeredHits(verdict));
}

/** The processes have, all together, the statistics of all calls. */
export async function statisticsAre(
  t: Test,
  processes: readonly ServiceProcess[],
  verdict: Verdict,
): Promise<void> {
  const expected = expectedStatistics(verdict.tallies);
  const debugPorts = processes.map(process => process.debug);
  t.same(await countedStatistics(debugPorts, expected.keys()), expected);
}

/** The hits that calls were answered for, by the text of their counter. */
export function answeredHits({ tallies }: Verdict): Map<string, number> {
  return new Map([...tallies].map(([counter, { answered }]) => [counter.text, answered]));
}
