import { parseArgs } from 'node:util';
import { listed } from '../../support/options.ts';
import { bullmq } from './bullmq.ts';
import { consolePages } from './console-pages.ts';
import { create, createBatch } from './create.ts';
import { decisionsBeside } from './decisions-beside.ts';
import { ended } from './ended.ts';
import { FULL, type Part, QUICK, type Size } from './measurement.ts';
import { neighbours } from './neighbours.ts';
import { burst, pull, push, startLag, tenants } from './push.ts';
import { schedules } from './schedules.ts';
import { stored } from './stored.ts';
import { STORES, type Store } from './task-service.ts';

/** All parts, in the order in which they are run; each has a service of its own, with an empty store. */
export const PARTS = {
  create,
  batch: createBatch,
  bullmq,
  push,
  pull,
  lag: startLag,
  burst,
  tenants,
  neighbours,
  schedules,
  decisions: decisionsBeside,
  stored,
  ended,
  console: consolePages,
} as const satisfies Record<string, Part>;
export type PartName = keyof typeof PARTS;

const NAMES = Object.keys(PARTS) as PartName[];

export const USAGE = `npm run bench:tasks -- [--quick] [--only PART,…] [--store STORE,…] [--json FILE]

Puts load on the task service from end to end; see bench/README.md.
  --quick         small numbers, which only show the order of magnitude
  --only PART,…   ${NAMES.join(', ')}
  --store STORE,… ${STORES.join(', ')}
  --json FILE     writes all figures to FILE as well`;

export interface Plan {
  readonly parts: readonly PartName[];
  readonly stores: readonly Store[];
  readonly size: Size;
  readonly jsonFile: string | undefined;
}

/** Reads the command line. Throws BadArguments where it cannot be followed. */
export function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      store: { type: 'string' },
      json: { type: 'string' },
    },
  });
  return {
    parts: values.only === undefined ? NAMES : listed(values.only, { name: '--only', known: NAMES }),
    stores: values.store === undefined ? STORES : listed(values.store, { name: '--store', known: STORES }),
    size: values.quick ? QUICK : FULL,
    jsonFile: values.json,
  };
}
