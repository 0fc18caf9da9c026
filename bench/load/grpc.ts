import { writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { requireH2load } from '../support/h2load.ts';
import { describeMachine } from '../support/machine.ts';
import { wholeNumber } from '../support/options.ts';
import { limitTime, runBench } from '../support/run.ts';
import { compare } from './grpc/compare.ts';
import { CONTESTANTS, SCENARIOS } from './grpc/figures.ts';
import { measureIdle } from './grpc/idle.ts';
import type { Durations } from './grpc/measure.ts';
import { idleLines, loadTables } from './grpc/report.ts';

const USAGE = `npm run bench:grpc -- [--quick] [--rounds N] [--idle N] [--json FILE]

Compares the gRPC server of Sluice with @grpc/grpc-js and node:http2 under h2load; see bench/README.md.
  --quick      three short rounds, within 40 s, instead of five within 3 minutes
  --rounds N   number of rounds, 1 to 50
  --idle N     idle connections that are opened at the end, 0 to 50000; 10000 without it
  --json FILE  writes all figures of all rounds to FILE as well`;

interface Plan {
  readonly rounds: number;
  readonly durations: Durations;
  readonly idleConnections: number;
  readonly jsonFile: string | undefined;
  readonly limitMs: number;
}

const FULL: Durations = { warmUpMs: 300, measuredMs: 1_500, loggedWarmUpMs: 200, loggedMs: 500 };
const QUICK: Durations = { warmUpMs: 100, measuredMs: 400, loggedWarmUpMs: 100, loggedMs: 300 };

/** Starting h2load and reading its logs takes part of this on top; a machine that needs more is too busy to measure. */
const OVERHEAD_SHARE = 0.3;
/** Starting servers, compiling their code, and the idle connections. */
const BEFORE_AND_AFTER_MS = 8_000;

function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      idle: { type: 'string', default: '10000' },
      json: { type: 'string' },
    },
  });
  const durations = values.quick ? QUICK : FULL;
  const rounds = wholeNumber(values.rounds ?? (values.quick ? '3' : '5'), {
    name: '--rounds',
    min: 1,
    max: 50,
  });
  const { warmUpMs, measuredMs, loggedWarmUpMs, loggedMs } = durations;
  const measurementMs = warmUpMs + measuredMs + loggedWarmUpMs + loggedMs;
  const plannedMs = rounds * SCENARIOS.length * CONTESTANTS.length * measurementMs;
  return {
    rounds,
    durations,
    idleConnections: wholeNumber(values.idle, { name: '--idle', min: 0, max: 50_000 }),
    jsonFile: values.json,
    limitMs: plannedMs * (1 + OVERHEAD_SHARE) + BEFORE_AND_AFTER_MS,
  };
}

/** The file beside this one that a child process runs; sources and their build have different endings. */
function entryOf(name: string): URL {
  return new URL(`./grpc/${name}${extname(import.meta.url)}`, import.meta.url);
}

async function main(): Promise<void> {
  const { rounds, durations, idleConnections, jsonFile, limitMs } = readPlan(process.argv.slice(2));
  const generator = await requireH2load();
  limitTime(limitMs);
  const results = await compare({ rounds, durations, entryOf });
  for (const line of loadTables(results)) console.log(line);
  const idle = idleConnections === 0 ? null : await measureIdle(idleConnections, entryOf);
  if (idle !== null) for (const line of ['', ...idleLines(idle)]) console.log(line);
  if (jsonFile === undefined) return;
  const report = { machine: describeMachine(), generator, durations, results, idle };
  writeFileSync(jsonFile, `${JSON.stringify(report, null, 2)}\n`);
}

await runBench(main, USAGE);
