import { getPriority } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { runBehindDecisions, runLast } from '../../../src/base/threads/inside-thread.ts';

const FUNCTIONS = { runBehindDecisions, runLast };
export type PriorityFunction = keyof typeof FUNCTIONS;

// A program, `node nice-thread.js USER FUNCTION…`, that starts itself as a thread. The thread calls these functions,
// and the process writes its own niceness and that of the thread.

if (isMainThread) {
  const [user, ...functions] = process.argv.slice(2);
  const thread = new Worker(new URL(import.meta.url), { workerData: functions });
  thread.once('message', () => {
    // The user may not be allowed to read files, so all modules are loaded before.
    if (process.getuid?.() === 0) process.setuid?.(Number(user));
    thread.once('message', niceness => process.stdout.write(`${getPriority()} ${niceness}`));
    thread.postMessage('go');
  });
} else {
  parentPort?.once('message', () => {
    for (const name of workerData as PriorityFunction[]) FUNCTIONS[name]();
    parentPort?.postMessage(getPriority(0));
  });
  parentPort?.postMessage('loaded');
}
