import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeMachine } from '../support/machine.ts';
import { listed } from '../support/options.ts';
import { limitTime, runBench } from '../support/run.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { CASES, type CaseName, type CaseResult, measureCase, type Seconds } from './memory/cases.ts';
import { memoryTable } from './memory/report.ts';

const NAMES = Object.keys(CASES) as CaseName[];

const USAGE = `npm run bench:memory -- [--quick] [--only CASE,…] [--json FILE]

What the service takes at rest, at its peak and afterwards; see bench/README.md. Linux only.
  --quick      short phases: what is at rest may not have settled
  --only CASE,… ${NAMES.join(', ')}
  --json FILE  writes all figures to FILE as well`;

/** After half a minute without work V8 has given back what the start, or the load, no longer needs. */
const FULL: Seconds = { rest: 40, load: 20 };
const QUICK: Seconds = { rest: 5, load: 5 };
const BEFORE_AND_AFTER_MS = 60_000;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: NAMES.join(',') },
      json: { type: 'string' },
    },
  });
  const names = listed(values.only, { name: '--only', known: NAMES });
  if (process.platform !== 'linux') throw new Error('memory can be measured on Linux only');
  const seconds = values.quick ? QUICK : FULL;
  limitTime(names.length * (2 * seconds.rest + seconds.load) * 1_500 + BEFORE_AND_AFTER_MS);
  const folder = makeWorkFolder();
  const results: CaseResult[] = [];
  for (const name of names) {
    console.error(CASES[name].title);
    results.push(await measureCase(name, seconds, folder));
  }
  console.log(memoryTable(results).join('\n'));
  if (values.json !== undefined) {
    const report = { machine: describeMachine(), seconds, results };
    writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

await runBench(main, USAGE);
