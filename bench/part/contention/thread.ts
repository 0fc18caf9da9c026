import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { KINDS, type Kind, OPERATIONS_AT_ONCE, type SharedMemory, workOf } from './work.ts';

/** What the threads do at the moment: one word that all of them read. */
export const PHASE = { warmUp: 0, measured: 1, stop: 2 } as const;

/** What each thread gets when it starts. */
export interface ThreadData {
  readonly memory: SharedMemory;
  readonly phase: Int32Array<SharedArrayBuffer>;
  readonly thread: number;
}

/** Does operations until the phase is `stop`, and returns their number in the measured phase. */
function run(phase: Int32Array, work: () => void): number {
  let measured = 0;
  for (;;) {
    const now = Atomics.load(phase, 0);
    if (now === PHASE.stop) return measured;
    work();
    if (now === PHASE.measured) measured += OPERATIONS_AT_ONCE;
  }
}

function serve({ memory, phase, thread }: ThreadData, port: MessagePort): void {
  // Prepared once, because the keys of all counters take longer than a measurement.
  const kinds = Object.keys(KINDS) as Kind[];
  const works = new Map(kinds.map(kind => [kind, workOf(kind, memory, thread)]));
  port.on('message', (kind: Kind) => {
    port.postMessage(run(phase, works.get(kind) ?? (() => {})));
  });
  port.postMessage('ready');
}

// The benchmark imports the phases from here, in a thread that has no parent.
if (parentPort !== null) serve(workerData, parentPort);
