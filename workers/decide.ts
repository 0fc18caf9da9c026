import { workerData } from 'node:worker_threads';
import type { DecidingSetup } from '../src/app/decision/deciding.ts';
import { serveDecisions } from '../src/app/decision/decision-thread.ts';
import type { LastingTask } from '../src/base/threads/inside-thread.ts';

/** Decides batches beside the thread that has the connections; see `src/decision/pool`. */
export default function decide(task: LastingTask): Promise<void> {
  return serveDecisions(task, workerData as DecidingSetup);
}
