import type { Worker } from 'node:worker_threads';
import type { Teardown } from '../temp-directory.ts';

/** The threads that this process starts until the test is over, the last at the end. */
export function startedThreads(t: Teardown): Worker[] {
  const threads: Worker[] = [];
  const started = (thread: Worker): void => void threads.push(thread);
  process.on('worker', started);
  t.teardown(() => process.off('worker', started));
  return threads;
}
