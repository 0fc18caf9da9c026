import { workerData } from 'node:worker_threads';
import { type RestThreadSetup, serveTasksRest } from '../src/app/tasks/rest-thread.ts';
import { type LastingTask, runBehindDecisions } from '../src/base/threads/inside-thread.ts';

runBehindDecisions();

/**
 * Answers calls of the REST interface of tasks in a thread separate from the connections; see `src/tasks/rest/threads`.
 */
export default function rest(task: LastingTask): Promise<void> {
  return serveTasksRest(task, workerData as RestThreadSetup);
}
