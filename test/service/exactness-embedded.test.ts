import t, { type Test } from 'tap';
import { descriptor } from '../support/decisions.ts';
import { answeredHits, statisticsAre } from '../support/exactness/expect.ts';
import { grpcFront } from '../support/exactness/fronts.ts';
import type { Counter } from '../support/exactness/load.ts';
import { examineCalls } from '../support/exactness/model.ts';
import { DOMAIN, loadOn, ruleSettings, startProcesses } from '../support/exactness/setup.ts';
import type { ServiceProcess } from '../support/service.ts';

/** Large enough for any count, as the limit of a call that asks for it. */
const NO_LIMIT = 4_294_967_295;

const HOLD_BACK = { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' };

for (const { name, env, holdsBack, wholeCalls } of [
  { name: 'one thread', env: {}, holdsBack: false, wholeCalls: true },
  { name: 'one thread, with hits held back', env: HOLD_BACK, holdsBack: true, wholeCalls: true },
  // Threads count in the same memory at the same time: each counter is exact, and calls come between those of others.
  { name: 'several threads', env: { WORKER_THREADS: '2' }, holdsBack: false, wholeCalls: false },
  { name: '2 serving threads', env: { SERVE_THREADS: '2' }, holdsBack: false, wholeCalls: false },
  {
    name: '2 serving threads, with hits held back',
    env: { SERVE_THREADS: '2', ...HOLD_BACK },
    holdsBack: true,
    wholeCalls: true,
  },
]) {
  t.test(`one process on the embedded store, ${name}: answers are those of calls one by one`, async t => {
    const processes = await startProcesses(t, 1, { ...ruleSettings(t), WORKER_THREADS: '0', ...env });
    const load = loadOn(t, processes[0], { seed: 2, repeats: !holdsBack });
    await load.run(40);
    const verdict = examineCalls(load.calls, { holdsBack, wholeCalls });
    t.same(verdict.contradictions, []);
    t.same(await countsAsked(t, processes[0], verdict.tallies.keys()), answeredHits(verdict));
    if (!holdsBack) await statisticsAre(t, processes, verdict);
  });
}

/** The count of each counter, asked for with no hits and a limit that none reaches. */
async function countsAsked(
  t: Test,
  service: ServiceProcess,
  counters: Iterable<Counter>,
): Promise<Map<string, number>> {
  const front = grpcFront(service.grpc);
  t.teardown(() => front.close());
  const found = new Map<string, number>();
  for (const { text } of counters) {
    const limit = { requestsPerUnit: NO_LIMIT, unit: 6 };
    const answer = await front.ask({
      domain: DOMAIN,
      descriptors: [descriptor(text, { limit, hitsAddend: 0 })],
      hitsAddend: 0,
    });
    found.set(text, 'told' in answer ? NO_LIMIT - answer.told[0].remaining : Number.NaN);
  }
  return found;
}
