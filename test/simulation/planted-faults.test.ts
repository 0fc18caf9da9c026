import t from 'tap';
import { ALL_PLANTED } from '../support/planted-faults/all-planted.ts';
import { findPlanted } from '../support/planted-faults/check.ts';

/** So many histories are played until a planted fault counts as not found. */
const MOST_HISTORIES = { tasks: 600, decisions: 2_000 };
const FIRST_SEED = 1;

t.setTimeout(2_400_000);

for (const [number, { name, simulator }] of ALL_PLANTED.entries())
  t.test(`the simulator finds that ${name}`, async t => {
    const { histories, report } = await findPlanted(number, MOST_HISTORIES[simulator], FIRST_SEED);
    if (histories === null) t.comment(report);
    t.ok(histories !== null, `after ${histories} histories`);
  });
