import t from 'tap';
import { randomRun } from '../../support/quota/random-simulation.ts';

/** Seeds whose runs take about two minutes together. */
const SEEDS = 200;

t.setTimeout(240_000);

t.test('the limit holds whatever happens to instances, proxies, connections and the store', async t => {
  for (let seed = 100; seed < 100 + SEEDS; seed++) {
    const { what, worst, limit, unpaid, logged } = await randomRun(seed);
    if (worst > limit || unpaid > 0 || logged > 0)
      t.fail(`${what}: ${worst} of ${limit}, ${unpaid} not paid`);
  }
});

t.test('the limit holds with a thousand proxies', async t => {
  for (const seed of [1, 2, 3]) {
    const { what, worst, limit, unpaid, logged } = await randomRun(seed, 1_000);
    t.ok(worst <= limit && unpaid <= 0 && logged === 0, `${what}: ${worst} of ${limit}, ${unpaid} not paid`);
  }
});
