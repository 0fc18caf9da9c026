import { parentPort, workerData } from 'node:worker_threads';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { admit, atMs, slidingWindow, tokenBucket } from '../../../support/admission.ts';

/** What an admitting thread is to do: in each round one hit on a sliding window and one on a token bucket. */
export interface AdmittingJob {
  readonly buffer: SharedArrayBuffer;
  readonly rounds: number;
  /** The time of the thread, see `atMs`. */
  readonly ms: number;
}

const job = workerData as AdmittingJob;
const store = new EmbeddedCounterStore(CounterTable.attach(job.buffer));
const ops = [slidingWindow(700, 10), tokenBucket(70, 10, 700)].map((terms, i) => ({
  key: `k${i}`,
  hits: 1,
  terms,
}));
const admitted = [0, 0];
for (let round = 0; round < job.rounds; round++) {
  const { refused } = await admit(store, ops, atMs(job.ms));
  for (const [i, isRefused] of refused.entries()) if (!isRefused) admitted[i]++;
}
parentPort!.postMessage(admitted);
