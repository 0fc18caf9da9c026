import { parseArgs } from 'node:util';
import { campaign } from './campaign.ts';
import { keep } from './found/kept.ts';
import { testOf } from './found/print.ts';
import type { StoreKind } from './steps/step.ts';

const HELP = `npm run simulate -- [--hours N | --seeds N] [--seed S] [--store KIND] [--keep] [--first]

Plays random histories of the task service, and prints those that break a promise, made short.

  --hours N   for so long (default: until --seeds, or 60 s)
  --seeds N   so many histories
  --seed S    the first seed (default: the time)
  --first     ends with the first history that breaks a promise, and leaves it as it is
  --store X   sqlite, model or both (default: the seed chooses)
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
    keep: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  say(HELP);
} else {
  const isBounded = values.hours !== undefined || values.seeds !== undefined;
  const firstSeed = Number(values.seed ?? Date.now() % 1_000_000_000);
  say(`first seed ${firstSeed}`);
  const result = await campaign({
    firstSeed,
    most: Number(values.seeds ?? Number.POSITIVE_INFINITY),
    forMs: isBounded ? Number(values.hours ?? Number.POSITIVE_INFINITY) * 3_600_000 : 60_000,
    found: (shrunk, seed) => {
      const { promise, text } = shrunk.violation;
      say(`\nseed ${seed}\n${values.first ? `${promise}: ${text}` : testOf(shrunk)}\n`);
      if (values.keep) keep(shrunk);
    },
    ...(values.store !== undefined && { store: values.store as StoreKind }),
    ending: values.first ? 'unshrunk' : 'all',
  });
  const { histories, events, steps, seconds, broken, coverage } = result;
  const rate = (count: number) => (count / seconds).toFixed(1);
  say(
    `${histories} histories in ${seconds.toFixed(0)} s: ${rate(histories)}/s, ${rate(events)} events/s, ${steps} steps`,
  );
  for (const line of coverage.lines()) say(line);
  for (const [promise, times] of broken) say(`broken: ${promise} (${times} histories)`);
  if (broken.size === 0) say('no promise was broken');
  process.exitCode = broken.size === 0 ? 0 : 1;
}
