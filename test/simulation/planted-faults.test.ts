import t from 'tap';
import { findPlanted } from '../support/planted-faults/check.ts';
import { PLANTED } from '../support/planted-faults/planted.ts';

/** So many histories are played until a planted fault counts as not found. */
const MOST_HISTORIES = 600;
const FIRST_SEED = 1;

t.setTimeout(2_400_000);

for (const [number, { name }] of PLANTED.entries())
  t.test(`the simulator finds that ${name}`, async t => {
    const { histories, report } = await findPlanted(number, MOST_HISTORIES, FIRST_SEED);
    if (histories === null) t.comment(report);
    t.ok(histories !== null, `after ${histories} histories`);
  });
