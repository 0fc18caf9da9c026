import { parentPort } from 'node:worker_threads';
import { move, workerData } from 'piscina';
import { type DecisionThreadSetup, openDecisionThread } from '../src/app/decision-thread.ts';
import { Moved } from '../src/decision/pool/moved.ts';
import type { DecideTask } from '../src/decision/pool/task.ts';

async function open(): Promise<(task: DecideTask) => Promise<unknown>> {
  const decide = await openDecisionThread(workerData as DecisionThreadSetup, message =>
    parentPort?.postMessage(message),
  );
  return async task => move(new Moved(await decide(task)));
}

/** Decides batches beside the thread that has the connections; see `src/decision/pool`. */
export default open();
