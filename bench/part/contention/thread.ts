import { parentPort, workerData } from 'node:worker_threads';
import { type Kind, OPERATIONS_AT_ONCE, type SharedMemory, workOf } from './work.ts';

/** What the threads do at the moment: one word that all of them read. */
export const PHASE = { warmUp: 0, measured: 1, stop: 2 } as const;

/** What each thread gets when it starts. */
export interface ThreadData {
  readonly memory: SharedMemory;
  readonly phase: Int32Array<SharedArrayBuffer>;
  readonly thread: number;
}

/** Does operations of one kind until the phase is `stop`, and answers with their number in the measured phase. */
function run({ memory, phase, thread }: ThreadData, kind: Kind): number {
  const work = workOf(kind, memory, thread);
  let measured = 0;
  for (;;) {
    const now = Atomics.load(phase, 0);
    if (now === PHASE.stop) return measured;
    work();
    if (now === PHASE.measured) measured += OPERATIONS_AT_ONCE;
  }
}

// The benchmark imports the phases from here, in a thread that has no parent.
parentPort?.on('message', (kind: Kind) => {
  parentPort?.postMessage(run(workerData, kind));
});
