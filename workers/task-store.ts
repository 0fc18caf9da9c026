import { workerData } from 'node:worker_threads';
import { type LastingTask, runBehindDecisions } from '../src/base/threads/inside-thread.ts';
import { runStoreThread, type StoreThreadSetup } from '../src/tasks/store/sqlite/engine/store-thread.ts';

runBehindDecisions();

/** Owns the file of a task store; see `src/tasks/store/sqlite`. */
export default function store(task: LastingTask): Promise<void> {
  return runStoreThread(task, workerData as StoreThreadSetup);
}
