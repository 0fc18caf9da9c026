import t from 'tap';
import { randomEntries } from '../../exam/decisions/random-rules.ts';
import { compareMatches, Seen } from '../../support/matching.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

t.test('100,000 random descriptors are matched as by lists and texts, in 10,000 sets of rules', async t => {
  const random = new SeededRandom(35);
  const seen = new Seen();
  for (let set = 0; set < 10_000; set++)
    compareMatches(t, random, randomEntries(random, 1), { requests: 10, seen });
  for (const [what, times] of Object.entries(seen.times)) t.ok(times > 400, `${what}: ${times} times`);
});
