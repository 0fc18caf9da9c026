import { parentPort, workerData } from 'node:worker_threads';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';

/** What an adding thread is to do: add each of `hits` in turn, `rounds` times, to slot 1. */
export interface AddingJob {
  readonly totals: Int32Array;
  readonly rounds: number;
  readonly hits: readonly number[];
}

const { totals, rounds, hits } = workerData as AddingJob;
for (let round = 0; round < rounds; round++) for (const each of hits) addTotal(totals, 1, each);
parentPort!.postMessage('done');
