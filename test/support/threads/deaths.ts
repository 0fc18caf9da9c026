import { Session } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';
import type { Worker } from 'node:worker_threads';

/** Ways in which a thread of this process may die. */
export type Death = 'terminated' | 'exits' | 'throws' | 'out of memory';
export const DEATHS: readonly Death[] = ['terminated', 'exits', 'throws', 'out of memory'];

const CODE: Readonly<Record<Exclude<Death, 'terminated'>, string>> = {
  exits: 'process.exit(3)',
  throws: 'throw new Error("a defect of the thread")',
  'out of memory': 'for (const all = []; ; ) all.push(new Array(100_000).fill(0.5))',
};

/** Heap of the threads that are started from now on, in MB: the larger it is, the longer it takes to run out of it. */
export function limitHeapOfThreads(megabytes: number): void {
  setFlagsFromString(`--max-old-space-size=${megabytes}`);
}

/** Makes a thread die. Resolves when it is gone. */
export async function die(worker: Worker, death: Death): Promise<void> {
  const gone = new Promise(resolve => worker.once('exit', resolve));
  if (death === 'terminated') {
    await worker.terminate();
    return;
  }
  const session = runIn(worker.threadId, `setTimeout(() => { ${CODE[death]} })`);
  await gone;
  session.disconnect();
}

/** Runs code in another thread, whatever that does, through its inspector. */
function runIn(threadId: number, expression: string): Session {
  const session = new Session();
  session.connect();
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    // Its "workerId" counts the threads that the inspector has seen.
    if (!workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } });
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
  });
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return session;
}
