import t from 'tap';
import { countsAre, startedRedis, statisticsAre } from '../support/exactness/expect.ts';
import { examineCalls } from '../support/exactness/model.ts';
import {
  COUNTERS,
  countsInRedis,
  loadOn,
  RULES,
  ruleSettings,
  startProcesses,
} from '../support/exactness/setup.ts';
import { statisticsOf } from '../support/exactness/statistics.ts';
import { twoProcessesAreExact } from '../support/exactness/two-processes.ts';
import { writeRules } from '../support/rule-files.ts';
import type { ServiceProcess } from '../support/service.ts';

/** Two processes of several threads each. */
const THREADS = { SERVE_THREADS: '4' };

for (const [threads, env] of [
  ['2 workers', { WORKER_THREADS: '2' }],
  ['4 serving threads', THREADS],
] as const) {
  t.test(`two processes with ${threads} on one Redis: answers are those of calls one by one`, async t => {
    await twoProcessesAreExact(t, env);
  });
}

t.test('two processes that hold hits back decide each call whole', async t => {
  const redis = await startedRedis(t);
  const env = { REDIS_URL: redis.address, STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' };
  const processes = await startProcesses(t, 2, { ...ruleSettings(t), ...env });
  const load = loadOn(t, processes[0], { seed: 4, repeats: false });
  await load.run(40);
  const verdict = examineCalls(load.calls, { holdsBack: true });
  t.same(verdict.contradictions, []);
  await countsAre(t, redis, verdict);
});

t.test('with the local cache nothing else is answered, and what it answered is not in the store', async t => {
  const redis = await startedRedis(t);
  const env = { ...THREADS, REDIS_URL: redis.address, LOCAL_CACHE_SIZE_IN_BYTES: '1048576' };
  const processes = await startProcesses(t, 2, { ...ruleSettings(t), ...env });
  const load = loadOn(t, processes[0], { seed: 5 });
  await load.run(40);
  const verdict = examineCalls(load.calls);
  t.same(verdict.contradictions, []);
  await statisticsAre(t, processes, verdict);
  const pages = await Promise.all(processes.map(process => statisticsOf(process.debug)));
  const counts = await countsInRedis(redis, COUNTERS);
  for (const rule of new Set(COUNTERS.map(each => each.rule))) {
    const own = COUNTERS.filter(each => each.rule === rule);
    const answered = own.map(each => verdict.tallies.get(each)?.answered ?? 0);
    const name = `ratelimit.service.rate_limit.${rule}.over_limit_with_local_cache`;
    const byCache = pages.map(page => page.get(name) ?? 0);
    t.equal(total(own.map(each => counts.get(each.text)!)), total(answered) - total(byCache), rule);
  }
});

t.test('rules that are reloaded under load neither lose a hit nor count one twice', async t => {
  const redis = await startedRedis(t);
  const settings = ruleSettings(t);
  const processes = await startProcesses(t, 2, { ...settings, ...THREADS, REDIS_URL: redis.address });
  const load = loadOn(t, processes[0], { seed: 6 });
  let reloading = true;
  const running = load.runWhile(() => reloading);
  const loads = (process: ServiceProcess) =>
    process.logs.filter(line => line['@message'] === 'Rules loaded').length;
  for (let generation = 2; generation <= 6; generation++) {
    const others = Array.from(
      { length: 50 * generation },
      (_, i) => `  - {key: k${i}, rate_limit: {unit: day, requests_per_unit: ${generation}}}\n`,
    );
    writeRules(settings.RUNTIME_ROOT, { 'config/rules.yaml': RULES + others.join('') });
    await Promise.all(processes.map(process => process.logged(() => loads(process) >= generation)));
  }
  reloading = false;
  await running;
  const verdict = examineCalls(load.calls);
  t.same(verdict.contradictions, []);
  await countsAre(t, redis, verdict);
  await statisticsAre(t, processes, verdict);
});

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
