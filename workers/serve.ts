import { workerData } from 'node:worker_threads';
import type { ServingThreadSetup } from '../src/app/serving/messages.ts';
import { serveConnections } from '../src/app/serving/serving-thread.ts';
import type { LastingTask } from '../src/base/threads/inside-thread.ts';

/** Serves connections beside other such threads; see `src/app/serving`. */
export default function serve(task: LastingTask): Promise<void> {
  return serveConnections(task, workerData as ServingThreadSetup);
}
