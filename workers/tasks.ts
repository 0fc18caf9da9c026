import { workerData } from 'piscina';
import { type EngineThreadSetup, serveTasksEngine } from '../src/app/tasks/engine-thread.ts';
import { runBehindDecisions } from '../src/base/threads/background-thread.ts';
import type { LastingTask } from '../src/base/threads/lasting-task.ts';

runBehindDecisions();

/** Does what happens to tasks without a call, beside the thread that has the connections; see `src/tasks/scheduler`. */
export default function tasks(task: LastingTask): Promise<void> {
  return serveTasksEngine(task, workerData as EngineThreadSetup);
}
