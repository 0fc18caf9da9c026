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
  await runIn(worker.threadId, CODE[death]);
  await gone;
}

/** Makes a thread run an endless loop. Resolves when the thread does. */
export function hang(worker: Worker): Promise<void> {
  return runLoop(worker, 'for (;;);');
}

/** Makes a thread run a loop for a while. Resolves when the thread does. */
export function block(worker: Worker, milliseconds: number): Promise<void> {
  return runLoop(worker, `for (const end = Date.now() + ${milliseconds}; Date.now() < end; );`);
}

async function runLoop(worker: Worker, loop: string): Promise<void> {
  const name = `thread ${worker.threadId} loops`;
  const channel = new BroadcastChannel(name);
  const begins = new Promise(resolve => {
    channel.onmessage = resolve;
  });
  await runIn(worker.threadId, `new BroadcastChannel('${name}').postMessage(''); ${loop}`);
  await begins;
  channel.close();
}

/** Sessions of the inspector, by thread. */
const sessions = new Map<number, string>();
let attached = (): void => {};

/**
 * One for the whole process, from its start: enabling it while a thread ends makes the inspector of Node.js crash.
 */
const session = new Session();
session.connect();
session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
  // Its "workerId" counts the threads that the inspector has seen.
  const threadId = Number(/^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]);
  sessions.set(threadId, sessionId);
  attached();
});
session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });

/** Runs code in another thread, whatever that does, through its inspector. */
async function runIn(threadId: number, code: string): Promise<void> {
  while (!sessions.has(threadId)) {
    await new Promise<void>(resolve => {
      attached = resolve;
    });
  }
  const sessionId = sessions.get(threadId)!;
  const params = { expression: `setTimeout(() => { ${code} })` };
  const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params });
  session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
}
