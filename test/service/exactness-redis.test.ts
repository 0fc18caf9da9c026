import t, { type Test } from 'tap';
import { countsAre } from '../support/exactness/expect.ts';
import type { Counter } from '../support/exactness/load.ts';
import { examineCalls } from '../support/exactness/model.ts';
import { loadOn } from '../support/exactness/setup.ts';
import { twoProcessesAreExact } from '../support/exactness/two-processes.ts';
import type { RedisServer } from '../support/redis-server.ts';
import type { ServiceProcess } from '../support/service.ts';

t.test('two processes with one thread on one Redis: answers are those of calls one by one', async t => {
  const { redis, processes } = await twoProcessesAreExact(t, {});
  await t.test('one hit at a time on one counter: each remaining number is answered once, then none', t =>
    oneByOne(t, redis, processes),
  );
});

t.test(
  'two processes with 2 serving threads on one Redis: answers are those of calls one by one',
  async t => {
    await twoProcessesAreExact(t, { SERVE_THREADS: '2' });
  },
);

async function oneByOne(t: Test, redis: RedisServer, processes: readonly ServiceProcess[]): Promise<void> {
  const hot: Counter = { text: 'path=/hot,method=GET', rule: 'shop.path.method', limit: 900 };
  const load = loadOn(t, processes[0], {
    seed: 1,
    counters: [hot],
    unlimited: [],
    hits: 1,
    maxDescriptors: 1,
  });
  await load.run(60);
  const told = load.calls.flatMap(({ answer }) => ('told' in answer ? answer.told : []));
  t.equal(told.length, 1_200);
  const remaining = told.filter(({ code }) => code === 'OK').map(each => each.remaining);
  remaining.sort((a, b) => b - a);
  t.same(
    remaining,
    Array.from({ length: 900 }, (_, i) => 899 - i),
  );
  t.equal(told.filter(({ code }) => code === 'OVER_LIMIT').length, 300);
  await countsAre(t, redis, examineCalls(load.calls));
}
