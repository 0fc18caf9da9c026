import { parentPort, workerData } from 'node:worker_threads';
import { runBehindDecisions } from '../src/base/threads/inside-thread.ts';
import { runStoreThread, type StoreThreadSetup } from '../src/tasks/store/sqlite/engine/store-thread.ts';

runBehindDecisions();

/** Owns the file of a task store; see `src/tasks/store/sqlite`. */
if (parentPort !== null) runStoreThread(parentPort, workerData as StoreThreadSetup);
