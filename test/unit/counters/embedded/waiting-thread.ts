import { parentPort, workerData } from 'node:worker_threads';
import { Locks } from '../../../../src/counters/embedded/locks.ts';

/** What a thread does with the first of some locks. */
export interface WaitingJob {
  readonly words: Int32Array<SharedArrayBuffer>;
  /** How often the thread takes the lock. */
  readonly rounds: number;
  /** Whether the thread keeps the lock until another thread waits for it, or has finished. */
  readonly handsOver: boolean;
  /** How often threads have begun to sleep, and how many have done all rounds. */
  readonly totals: Int32Array<SharedArrayBuffer>;
}

/** Places in `totals`. */
export const SLEEPS = 0;
const FINISHED = 1;

function run({ words, rounds, handsOver, totals }: WaitingJob): void {
  const locks = new Locks(words);
  for (let round = 0; round < rounds; round++) {
    locks.lock(0);
    while (handsOver && Atomics.load(words, 0) > 0 && Atomics.load(totals, FINISHED) === 0);
    locks.unlock(0);
  }
  Atomics.add(totals, FINISHED, 1);
}

/** Makes all sleeps of this thread last until it is woken. */
function sleepWithoutBound(totals: Int32Array): void {
  const wait = Atomics.wait;
  Atomics.wait = ((words: Int32Array, at: number, value: number) => {
    Atomics.add(totals, SLEEPS, 1);
    return wait(words, at, value);
  }) as typeof wait;
}

// The test imports the places of the totals from here, in a thread that has no parent.
if (parentPort !== null) {
  const job = workerData as WaitingJob;
  sleepWithoutBound(job.totals);
  run(job);
  parentPort.postMessage('done');
}
