import { workerData } from 'node:worker_threads';
import { type EngineThreadSetup, serveTasksEngine } from '../src/app/tasks/engine-thread.ts';
import { type LastingTask, runBehindDecisions } from '../src/base/threads/inside-thread.ts';

runBehindDecisions();

/** Does what happens to tasks without a call, beside the thread that has the connections; see `src/tasks/scheduler`. */
export default function tasks(task: LastingTask): Promise<void> {
  return serveTasksEngine(task, workerData as EngineThreadSetup);
}
