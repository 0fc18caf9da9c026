// What threads lose when they count in the same shared memory.
// Run: node build/bench/part/contention.js --help
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { boundedNumber, wholeNumber, wholeNumbers } from '../support/options.ts';
import { runBench } from '../support/run.ts';
import { median } from '../support/statistics.ts';
import { formatNumber, formatTable } from '../support/table.ts';
import { PHASE, type ThreadData } from './contention/thread.ts';
import { KINDS, type Kind, sharedMemory } from './contention/work.ts';

const USAGE = `node build/bench/part/contention.js [--threads N,…] [--rounds N] [--seconds N]

Measures operations on memory that several threads share, in rounds in which all of them take turns.
  --threads N,…  numbers of threads, 1 to 64; without it 1, 2 and 4
  --rounds N     number of rounds, 1 to 200; without it 5. Each figure is the median over the rounds
  --seconds N    measured time of each figure in each round, 0.05 to 10; without it 0.2

The columns: operations of all threads together in a second, how many times those of the first number of threads;
processor time of all threads for one operation; share of the operations that the busiest thread did; the number of
rounds that count. A round in which other processes used more than a tenth of the cores does not count, because threads
can only get in each other's way while they run at the same time.`;

/** Until all threads run. Rounds are short, because a short time without other work is more likely than a long one. */
const WARM_UP_MS = 50;

interface Figures {
  readonly perSecond: number;
  readonly cpuNanoseconds: number;
  readonly busiestShare: number;
  /** Share of all cores that other processes used. */
  readonly others: number;
}

/** A round counts if other processes used at most this share of all cores. */
const MOST_OTHERS = 0.1;

/** Threads that wait for work. A smaller number of threads are the first of them. */
class Threads {
  readonly #phase = new Int32Array(new SharedArrayBuffer(4));
  readonly #workers: Worker[];

  constructor(count: number) {
    const memory = sharedMemory(count);
    const entry = new URL(`./contention/thread${extname(import.meta.url)}`, import.meta.url);
    this.#workers = Array.from({ length: count }, (_, thread) => {
      const workerData: ThreadData = { memory, phase: this.#phase, thread };
      return new Worker(entry, { workerData });
    });
  }

  async ready(): Promise<void> {
    await Promise.all(this.#workers.map(worker => once(worker, 'message')));
  }

  async measure(kind: Kind, count: number, measuredMs: number): Promise<Figures> {
    const workers = this.#workers.slice(0, count);
    Atomics.store(this.#phase, 0, PHASE.warmUp);
    const answers = workers.map(worker => once(worker, 'message'));
    for (const worker of workers) worker.postMessage(kind);
    await sleep(WARM_UP_MS);
    const beganMs = performance.now();
    const usage = process.cpuUsage();
    const busyMs = busyMsOfCores();
    Atomics.store(this.#phase, 0, PHASE.measured);
    await sleep(measuredMs);
    Atomics.store(this.#phase, 0, PHASE.stop);
    const { user, system } = process.cpuUsage(usage);
    const elapsedMs = performance.now() - beganMs;
    const othersMs = busyMsOfCores() - busyMs - (user + system) / 1_000;
    const operations = (await Promise.all(answers)).map(([done]) => Number(done));
    const total = operations.reduce((sum, each) => sum + each, 0);
    return {
      perSecond: (total * 1_000) / elapsedMs,
      cpuNanoseconds: ((user + system) * 1_000) / total,
      busiestShare: Math.max(...operations) / total,
      others: othersMs / elapsedMs / availableParallelism(),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.terminate()));
  }
}

/** Processor time of all processes on all cores since the machine started. */
function busyMsOfCores(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

interface Row {
  readonly kind: Kind;
  readonly threads: number;
  readonly rounds: Figures[];
}

function tableOf(rows: readonly Row[]): string[] {
  const counted = (row: Row): readonly Figures[] => row.rounds.filter(({ others }) => others <= MOST_OTHERS);
  const of = (row: Row, figure: keyof Figures): number => median(counted(row).map(each => each[figure]));
  const cells = rows.map(row => {
    const first = rows.find(({ kind }) => kind === row.kind) ?? row;
    return [
      `  ${row.threads} ${row.threads === 1 ? 'thread' : 'threads'}`,
      formatNumber(of(row, 'perSecond') / 1e6, 2),
      formatNumber(of(row, 'perSecond') / of(first, 'perSecond'), 2),
      formatNumber(of(row, 'cpuNanoseconds'), 0),
      formatNumber(of(row, 'busiestShare') * 100),
      `${counted(row).length} of ${row.rounds.length}`,
    ];
  });
  const titled = rows.flatMap((row, i) =>
    row.kind === rows[i - 1]?.kind ? [cells[i]] : [[KINDS[row.kind]], cells[i]],
  );
  return formatTable(['operation', 'million/s', '× first', 'CPU ns', 'busiest %', 'rounds'], titled);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      threads: { type: 'string', default: '1,2,4' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '0.2' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const counts = wholeNumbers(values.threads, { name: '--threads', min: 1, max: 64 });
  const rounds = wholeNumber(values.rounds, { name: '--rounds', min: 1, max: 200 });
  const measuredMs = boundedNumber(values.seconds, { name: '--seconds', min: 0.05, max: 10 }) * 1_000;
  const rows = (Object.keys(KINDS) as Kind[]).flatMap(kind =>
    counts.map((threads): Row => ({ kind, threads, rounds: [] })),
  );
  const threads = new Threads(Math.max(...counts));
  await threads.ready();
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) row.rounds.push(await threads.measure(row.kind, row.threads, measuredMs));
  }
  await threads.stop();
  console.log(`${availableParallelism()} cores`);
  console.log(tableOf(rows).join('\n'));
}

await runBench(main, USAGE);
