import { parentPort, workerData } from 'node:worker_threads';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { count } from '../../../support/counting.ts';

/** What a counting thread is to do: in each round one hit on every key. */
export interface CountingJob {
  readonly buffer: SharedArrayBuffer;
  readonly rounds: number;
  readonly keys: number;
}

const job = workerData as CountingJob;
const store = new EmbeddedCounterStore(CounterTable.attach(job.buffer));
const ops = Array.from({ length: job.keys }, (_, i) => ({ key: `k${i}`, hits: 1 }));
const seen: number[] = [];
for (let round = 0; round < job.rounds; round++) seen.push((await count(store, ops))[0]);
parentPort!.postMessage(seen);
