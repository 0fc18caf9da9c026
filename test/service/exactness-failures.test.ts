import t from 'tap';
import type { FrontAnswer } from '../support/exactness/fronts.ts';
import type { Counter } from '../support/exactness/load.ts';
import { examineCalls } from '../support/exactness/model.ts';
import { countsInRedis, loadOn, ruleSettings, startProcesses } from '../support/exactness/setup.ts';
import { statisticsOf } from '../support/exactness/statistics.ts';
import { redisFor } from '../support/redis-server.ts';
import type { ServiceProcess } from '../support/service.ts';

/** Most are never over their limit, so that nearly every answer tells the hits that it was given. */
const SITES: readonly Counter[] = [
  ...['a', 'b', 'c', 'd'].map(site => ({ text: `site=${site}`, rule: 'shop.site', limit: 10_000_000 })),
  { text: 'user=ann', rule: 'shop.user', limit: 60 },
];

const isAnswered = (answer: FrontAnswer): boolean => 'told' in answer;
const isFailed = (answer: FrontAnswer): boolean => 'error' in answer;

/** What is not sent cannot be counted. */
const NOT_SENT = / is not connected: /;

for (const SERVE_THREADS of ['1', '4']) {
  t.test(
    `while Redis is away, hits are errors or counted, once (SERVE_THREADS=${SERVE_THREADS})`,
    async t => {
      t.comment('frozen, killed and started again');
      // It keeps what it has counted: each count is written before it is answered, and outlives the process.
      const redis = await redisFor(t, { args: ['--appendonly', 'yes', '--appendfsync', 'no'] });
      const processes = await startProcesses(t, 2, {
        ...ruleSettings(t),
        REDIS_URL: redis.address,
        REDIS_TIMEOUT: '250ms',
        REDIS_STARTUP_INITIAL_INTERVAL: '50ms',
        SERVE_THREADS,
      });
      const load = loadOn(t, processes[0], { seed: 7, counters: SITES });
      let going = true;
      const running = load.runWhile(() => going);
      await load.heard(300, isAnswered);

      redis.freeze();
      await load.heard(40, isFailed);
      redis.thaw();
      await load.heard(300, isAnswered);

      await redis.kill();
      await load.heard(200, isFailed);
      await redis.start();
      await load.heard(300, isAnswered);

      going = false;
      await running;
      const errors = load.calls.flatMap(({ answer }) => ('error' in answer ? [answer] : []));
      t.same(new Set(errors.map(each => each.status)), new Set([14, 503]));
      t.ok(errors.some(each => NOT_SENT.test(each.error)) && errors.some(each => !NOT_SENT.test(each.error)));
      const verdict = examineCalls(load.calls, { mayBeCounted: error => !NOT_SENT.test(error) });
      t.same(verdict.contradictions, []);
      const counts = await countsInRedis(redis, SITES);
      for (const [{ text }, { answered, uncertain }] of verdict.tallies) {
        const count = counts.get(text)!;
        t.ok(answered <= count && count <= answered + uncertain, `${answered} <= ${count} <= +${uncertain}`);
      }
      t.equal(await storeErrors(processes), errors.length);
    },
  );
}

/** Calls that failed because of the store, of all processes. */
async function storeErrors(processes: readonly ServiceProcess[]): Promise<number> {
  const pages = await Promise.all(processes.map(process => statisticsOf(process.debug)));
  const name = 'ratelimit.service.call.should_rate_limit.redis_error';
  return pages.reduce((sum, page) => sum + (page.get(name) ?? 0), 0);
}
