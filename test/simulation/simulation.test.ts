import t, { type Test } from 'tap';
import { campaign } from './campaign.ts';
import { DECISIONS_SIMULATOR } from './decisions/decisions-simulator.ts';
import { keptHistories } from './found/kept.ts';
import { testOf } from './found/print.ts';
import type { AnyHistory, Simulator } from './simulator.ts';
import { tasksSimulator } from './tasks-simulator.ts';

/** How long new histories are played each time. */
const NEW_TASKS_MS = 20_000;
const NEW_DECISIONS_MS = 10_000;

examine(DECISIONS_SIMULATOR, NEW_DECISIONS_MS);
examine(tasksSimulator(), NEW_TASKS_MS);

function examine<H extends AnyHistory>(simulator: Simulator<H>, forMs: number): void {
  const { name } = simulator;

  t.test(`histories of ${name} that have broken a promise once keep all of them`, async t => {
    for (const { promise, was, history } of keptHistories(simulator)) {
      const { violations } = await simulator.play(history);
      t.strictSame(violations, [], `${promise}: ${was}`);
    }
  });

  t.test(`a history of ${name} follows from its seed alone`, async t => {
    for (const seed of [3, 4, 5]) {
      const play = () => simulator.play(simulator.randomHistory(seed));
      t.equal((await play()).digest, (await play()).digest, `seed ${seed}`);
    }
  });

  t.test(`new histories of ${name} keep all promises`, t => playNew(t, simulator, forMs));
}

async function playNew<H extends AnyHistory>(t: Test, simulator: Simulator<H>, forMs: number): Promise<void> {
  const firstSeed = Date.now() % 1_000_000_000;
  t.comment(`first seed ${firstSeed}`);
  const { histories, events, coverage } = await campaign({
    simulator,
    firstSeed,
    most: Number.POSITIVE_INFINITY,
    forMs,
    found: (shrunk, seed) =>
      t.fail(`seed ${seed} breaks a promise: ${shrunk.violation.promise}`, { test: testOf(shrunk) }),
    ending: 'first',
  });
  t.ok(histories > 0, `${histories} histories with ${events} events`);
  for (const line of coverage.lines()) t.comment(line);
}
