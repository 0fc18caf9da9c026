import { parseArgs } from 'node:util';
import { campaign } from './campaign.ts';
import { DECISIONS_SIMULATOR } from './decisions/decisions-simulator.ts';
import { keep } from './found/kept.ts';
import { testOf } from './found/print.ts';
import type { AnyHistory, Simulator } from './simulator.ts';
import type { StoreKind } from './steps/step.ts';
import { tasksSimulator } from './tasks-simulator.ts';

const HELP = `npm run simulate -- [--only X] [--hours N | --seeds N] [--seed S] [--store KIND] [--keep] [--first]

Plays random histories of decisions and of the task service, and prints those that break a promise, made short.

  --only X    decisions or tasks (default: first the one, then the other)
  --hours N   for so long, both together (default: until --seeds, or 60 s)
  --seeds N   so many histories
  --seed S    the first seed (default: the time)
  --first     ends with the first history that breaks a promise, and leaves it as it is
  --store X   of tasks: sqlite, model or both (default: the seed chooses)
  --keep      adds what it finds to the histories that npm test replays`;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const { values } = parseArgs({
  options: {
    hours: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    store: { type: 'string' },
    only: { type: 'string' },
    keep: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Plays histories of one simulator. Returns whether all promises were kept. */
async function simulate<H extends AnyHistory>(simulator: Simulator<H>, forMs: number): Promise<boolean> {
  const { histories, events, steps, seconds, broken, coverage } = await campaign({
    simulator,
    firstSeed,
    most: Number(values.seeds ?? Number.POSITIVE_INFINITY),
    forMs,
    found: (shrunk, seed) => {
      const { promise, text } = shrunk.violation;
      say(`\nseed ${seed}\n${values.first ? `${promise}: ${text}` : testOf(shrunk)}\n`);
      if (values.keep) keep(simulator, shrunk);
    },
    ending: values.first ? 'unshrunk' : 'all',
  });
  const rate = (count: number) => (count / seconds).toFixed(1);
  say(
    `${simulator.name}: ${histories} histories in ${seconds.toFixed(0)} s: ${rate(histories)}/s, ${rate(events)} events/s, ${steps} steps`,
  );
  for (const line of coverage.lines()) say(line);
  for (const [promise, times] of broken) say(`broken: ${promise} (${times} histories)`);
  if (broken.size === 0) say('no promise was broken');
  return broken.size === 0;
}

const firstSeed = Number(values.seed ?? Date.now() % 1_000_000_000);

if (values.help) {
  say(HELP);
} else {
  const isBounded = values.hours !== undefined || values.seeds !== undefined;
  const allMs = isBounded ? Number(values.hours ?? Number.POSITIVE_INFINITY) * 3_600_000 : 60_000;
  const { only } = values;
  const forMs = only === undefined ? allMs / 2 : allMs;
  say(`first seed ${firstSeed}`);
  const decisionsHold = only === 'tasks' || (await simulate(DECISIONS_SIMULATOR, forMs));
  const tasks = tasksSimulator((values.store as StoreKind | undefined) ?? null);
  const tasksHold = only === 'decisions' || (await simulate(tasks, forMs));
  process.exitCode = decisionsHold && tasksHold ? 0 : 1;
}
