import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CONTESTANTS, STORES, type Store } from '../load/decisions/contestants.ts';
import { Field, type Running } from '../load/decisions/field.ts';
import { PATTERNS, templateOf } from '../load/decisions/patterns.ts';
import { CONNECTIONS } from '../load/decisions/scenario.ts';
import { describeMachine } from '../support/machine.ts';
import { boundedNumber, listed, wholeNumber } from '../support/options.ts';
import { limitTime, runBench } from '../support/run.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { secondLine, secondsHead } from './decisions/report.ts';
import { INSPECTED, ServiceMemory } from './decisions/service-memory.ts';
import { SilentClients } from './decisions/silent-clients.ts';
import { type Phase, type Second, verdict } from './decisions/verdict.ts';

const USAGE = `npm run soak -- [--minutes N] [--store …] [--clients N] [--workers N] [--json FILE]

Keeps the service under full load, then adds clients that do not read, and fails if its memory grows; see bench/README.md.
  --minutes N     duration of the load for each store, 0.1 to 600; 5 without it
  --store STORE,… ${STORES.join(', ')}; both without it
  --clients N     clients that do not read, 1 to 2000; 200 without it
  --workers N     WORKER_THREADS of the service, 0 to 64; its default without it
  --json FILE     writes the figures of every second to FILE as well`;

interface Plan {
  readonly seconds: Readonly<Record<Phase, number>>;
  readonly stores: readonly Store[];
  readonly clients: number;
  readonly workers: number | null;
  readonly jsonFile: string | undefined;
}

/** Code is compiled, tables take their memory, and the heap finds its size. */
const LONGEST_WARM_UP_SECONDS = 45;
const SILENT_SECONDS = 20;
const AFTER_SECONDS = 5;
/** Garbage is collected once in so many seconds, and the table has a line for each. */
const SECONDS_A_HEAP_SAMPLE = 5;
const BEFORE_AND_AFTER_MS = 60_000;

function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      store: { type: 'string', default: STORES.join(',') },
      clients: { type: 'string', default: '200' },
      workers: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const seconds = Math.round(boundedNumber(values.minutes, { name: '--minutes', min: 0.1, max: 600 }) * 60);
  const warmUp = Math.min(LONGEST_WARM_UP_SECONDS, Math.ceil(seconds / 4));
  return {
    seconds: {
      'warm-up': warmUp,
      load: seconds - warmUp,
      'silent clients': SILENT_SECONDS,
      after: AFTER_SECONDS,
    },
    stores: listed(values.store, { name: '--store', known: STORES }),
    clients: wholeNumber(values.clients, { name: '--clients', min: 1, max: 2_000 }),
    workers:
      values.workers === undefined
        ? null
        : wholeNumber(values.workers, { name: '--workers', min: 0, max: 64 }),
    jsonFile: values.json,
  };
}

/** One service, its load, and what is known of every second. */
class Soak {
  readonly seconds: Second[] = [];
  readonly #generator: Field['grpcGenerator'];
  readonly #memory: ServiceMemory;

  constructor(generator: Field['grpcGenerator'], memory: ServiceMemory) {
    this.#generator = generator;
    this.#memory = memory;
  }

  async run(phase: Phase, seconds: number): Promise<void> {
    for (let i = 1; i <= seconds; i++) {
      await sleep(1_000);
      // Always in the last second of a phase.
      const collects = (seconds - i) % SECONDS_A_HEAP_SAMPLE === 0;
      const heap = collects ? await this.#memory.sample() : null;
      const window = await this.#generator.ask('mark');
      const second: Second = {
        at: this.seconds.length + 1,
        phase,
        requestsPerSecond: window.latency.count / window.seconds,
        p99Ms: window.latency.p99Ms,
        rssBytes: window.rssBytes['service'],
        heap,
      };
      this.seconds.push(second);
      if (collects) console.log(secondLine(second));
    }
  }
}

interface StoreResult {
  readonly store: Store;
  readonly seconds: readonly Second[];
  readonly faults: readonly string[];
}

async function soakStore(plan: Plan, field: Field, store: Store): Promise<StoreResult> {
  const running = field.of(store);
  const memory = await ServiceMemory.connect(outputOf(running));
  const template = templateOf(PATTERNS.keys);
  const generator = field.grpcGenerator;
  const soak = new Soak(generator, memory);
  console.log(`${CONTESTANTS[store].title}\n${secondsHead()}`);
  try {
    await generator.ask('start', {
      port: running.grpcPort,
      ...CONNECTIONS['8x32'],
      watched: running.watched,
      template,
      expectedCode: PATTERNS.keys.code,
      callsPerSecond: null,
    });
    await soak.run('warm-up', plan.seconds['warm-up']);
    await soak.run('load', plan.seconds.load);
    const silent = new SilentClients(plan.clients, running.grpcPort, template);
    try {
      await soak.run('silent clients', plan.seconds['silent clients']);
      console.log(
        `${silent.calls} calls sent by ${plan.clients} clients that do not read; ${silent.closed} were cut off`,
      );
    } finally {
      silent.leave();
    }
    await soak.run('after', plan.seconds.after);
    await generator.ask('finish');
  } finally {
    memory.close();
  }
  const faults = [...verdict(soak.seconds, plan.clients), ...(running.service?.faultLines ?? [])];
  return {
    store,
    seconds: soak.seconds,
    faults: faults.map(fault => `${CONTESTANTS[store].title}: ${fault}`),
  };
}

function outputOf({ service }: Running): string {
  if (service === null) throw new Error('the baseline is not soaked');
  return service.output;
}

async function main(): Promise<void> {
  const plan = readPlan(process.argv.slice(2));
  const { stores, workers, seconds } = plan;
  const secondsAStore = Object.values(seconds).reduce((sum, each) => sum + each, 0);
  limitTime(stores.length * (secondsAStore * 1_500 + BEFORE_AND_AFTER_MS));
  const folder = makeWorkFolder();
  const results: StoreResult[] = [];
  for (const store of stores) {
    const field = await Field.start({ contestants: [store], workers, env: INSPECTED, folder });
    try {
      results.push(await soakStore(plan, field, store));
    } finally {
      await field.stop();
    }
  }
  const faults = results.flatMap(result => result.faults);
  if (plan.jsonFile !== undefined) {
    writeFileSync(
      plan.jsonFile,
      `${JSON.stringify({ machine: describeMachine(), plan, results }, null, 2)}\n`,
    );
  }
  if (faults.length > 0) throw new Error(`the soak has failed:\n  ${faults.join('\n  ')}`);
  console.log('\nMemory is flat at the peak, and bounded with clients that do not read.');
}

await runBench(main, USAGE);
