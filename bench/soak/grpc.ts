import { writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ForkedChild } from '../support/forked-child.ts';
import { describeMachine } from '../support/machine.ts';
import { boundedNumber, wholeNumber } from '../support/options.ts';
import { limitTime, runBench } from '../support/run.ts';
import { SoakClients } from './grpc/clients.ts';
import { closingTables, type Second, secondLine, secondsHead } from './grpc/report.ts';
import type { Counters, ServerReport, SoakServerAnswers, SoakServerReady } from './grpc/server-report.ts';
import { Tally } from './grpc/tally.ts';
import { type Calms, verdict } from './grpc/verdict.ts';

const USAGE = `npm run soak:grpc -- [--minutes N] [--connections N] [--seed N] [--json FILE]

Loads the gRPC server of Sluice with short-lived connections and with calls that fail in every way, and fails if
anything leaks; see bench/README.md.
  --minutes N      how long, 0.1 to 600; 3 without it
  --connections N  connections at a time, 1 to 1000; 30 without it
  --seed N         seed of the random choices, 0 to 4000000; 1 without it
  --json FILE      writes the figures of every second to FILE as well`;

interface Plan {
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly seed: number;
  readonly jsonFile: string | undefined;
}

/** The server needs this long to compile its code and for its heap to find its size. */
const LONGEST_WARM_UP_SECONDS = 30;
/** A line of the table for so many seconds; the file has all of them. */
const SECONDS_A_LINE = 5;
/** The server must have let go of everything this long after its last client. */
const CALM_WITHIN_MS = 10_000;
const CALM_STEP_MS = 50;
/** Start, both calms and the stop. */
const BEFORE_AND_AFTER_MS = 90_000;

function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '3' },
      connections: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      json: { type: 'string' },
    },
  });
  const seconds = Math.round(boundedNumber(values.minutes, { name: '--minutes', min: 0.1, max: 600 }) * 60);
  const warmUpSeconds = Math.min(LONGEST_WARM_UP_SECONDS, Math.ceil(seconds / 4));
  return {
    warmUpSeconds,
    seconds: seconds - warmUpSeconds,
    connections: wholeNumber(values.connections, { name: '--connections', min: 1, max: 1_000 }),
    seed: wholeNumber(values.seed, { name: '--seed', min: 0, max: 4_000_000 }),
    jsonFile: values.json,
  };
}

/** The server in its process, its clients in this one, and what they did second by second. */
class Soak {
  readonly seconds: Second[] = [];
  readonly #server: ForkedChild<SoakServerAnswers>;
  readonly #clients: SoakClients;
  readonly #tally: Tally;

  constructor(server: ForkedChild<SoakServerAnswers>, clients: SoakClients, tally: Tally) {
    this.#server = server;
    this.#clients = clients;
    this.#tally = tally;
  }

  async run(phase: string, seconds: number): Promise<void> {
    this.#clients.start();
    for (let i = 0; i < seconds; i++) {
      const before = this.#tally.ended;
      const startedMs = performance.now();
      await sleep(1_000);
      const callsPerSecond = ((this.#tally.ended - before) / (performance.now() - startedMs)) * 1_000;
      this.#note(phase, callsPerSecond, await this.#server.ask('report'));
    }
    await this.#clients.stop();
  }

  /**
   * The report without clients: its counters as they were when the last connection was gone, the rest once timers have
   * run out as well. What passes by itself in time, such as a forgotten deadline, must not pass for cleaned up.
   */
  async calm(phase: string, timersAllowed: number): Promise<ServerReport> {
    const untilMs = performance.now() + CALM_WITHIN_MS;
    let counters: Counters | null = null;
    for (;;) {
      const report = await this.#server.ask('report');
      const isOver = performance.now() > untilMs;
      if (isOver || (report.counters.connectionCount === 0 && report.pendingInMethods === 0))
        counters ??= report.counters;
      if (counters !== null && (isOver || report.timers <= timersAllowed)) {
        const calm = { ...report, counters };
        this.#note(phase, 0, calm);
        return calm;
      }
      await sleep(CALM_STEP_MS);
    }
  }

  #note(phase: string, callsPerSecond: number, server: ServerReport): void {
    const second: Second = { at: this.seconds.length, phase, callsPerSecond, server };
    this.seconds.push(second);
    if (second.at % SECONDS_A_LINE === 0 || callsPerSecond === 0) console.log(secondLine(second));
  }
}

async function soak(server: ForkedChild<SoakServerAnswers>, plan: Plan): Promise<void> {
  const { port } = await server.ready<SoakServerReady>();
  const { connections, seed } = plan;
  const tally = new Tally();
  const running = new Soak(server, new SoakClients({ port, connections, seed, tally }), tally);
  console.log(secondsHead());
  const census = await server.ask('census');
  const report = await running.calm('started', 1);
  const started = { report, census };
  await running.run('warm-up', plan.warmUpSeconds);
  const warm = { report: await running.calm('calm', report.timers) };
  await running.run('load', plan.seconds);
  const end = { report: await running.calm('calm', report.timers), census: await server.ask('census') };
  await server.ask('stop');
  const stopped = { report: await running.calm('stopped', 0), census: await server.ask('census') };
  for (const line of ['', ...closingTables(tally, census, end.census)]) console.log(line);
  const calms: Calms = { started, warm, end, stopped };
  const faults = [...verdict(calms), ...(await server.ask('faultLines')), ...callFaults(tally)];
  if (plan.jsonFile !== undefined) {
    const written = { machine: describeMachine(), plan, calms, faults, seconds: running.seconds };
    writeFileSync(plan.jsonFile, `${JSON.stringify(written, null, 2)}\n`);
  }
  if (faults.length > 0) throw new Error(`the soak has failed:\n  ${faults.join('\n  ')}`);
  console.log('\nNothing is left behind.');
}

function callFaults({ faults, faultCount, begun }: Tally): string[] {
  const never = [...begun].filter(([, count]) => count === 0).map(([name]) => name);
  return [
    ...faults,
    ...(faultCount > faults.length ? [`and ${faultCount - faults.length} more`] : []),
    ...(never.length === 0 ? [] : [`these calls were never made: ${never.join(', ')}`]),
  ];
}

async function main(): Promise<void> {
  const plan = readPlan(process.argv.slice(2));
  limitTime((plan.warmUpSeconds + plan.seconds) * 1_500 + BEFORE_AND_AFTER_MS);
  const server = new ForkedChild<SoakServerAnswers>({
    entry: new URL(`./grpc/server${extname(import.meta.url)}`, import.meta.url),
    nodeFlags: ['--expose-gc'],
  });
  try {
    await soak(server, plan);
  } finally {
    await server.stop();
  }
}

await runBench(main, USAGE);
