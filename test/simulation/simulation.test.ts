import t from 'tap';
import { campaign } from './campaign.ts';
import { keptHistories } from './found/kept.ts';
import { testOf } from './found/print.ts';
import { play } from './play.ts';
import { randomHistory } from './steps/random-history.ts';

/** How long new histories are played each time. */
const NEW_MS = 30_000;

t.test('histories that have broken a promise once keep all of them', async t => {
  for (const { promise, was, history } of keptHistories()) {
    const { violations } = await play(history);
    t.strictSame(violations, [], `${promise}: ${was}`);
  }
});

t.test('a history follows from its seed alone', async t => {
  for (const seed of [3, 4, 5]) {
    const [one, other] = [await play(randomHistory(seed)), await play(randomHistory(seed))];
    t.equal(one.digest, other.digest, `seed ${seed}`);
  }
});

t.test('new histories keep all promises', async t => {
  const firstSeed = Date.now() % 1_000_000_000;
  t.comment(`first seed ${firstSeed}`);
  const { histories, events, coverage } = await campaign({
    firstSeed,
    most: Number.POSITIVE_INFINITY,
    forMs: NEW_MS,
    found: (shrunk, seed) =>
      t.fail(`seed ${seed} breaks a promise: ${shrunk.violation.promise}`, { test: testOf(shrunk) }),
    ending: 'first',
  });
  t.ok(histories > 0, `${histories} histories with ${events} events`);
  for (const line of coverage.lines()) t.comment(line);
});
