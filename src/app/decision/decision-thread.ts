import { threadId } from 'node:worker_threads';
import { asError } from '../../base/fault.ts';
import { acceptMessages, type LastingTask } from '../../base/threads/inside-thread.ts';
import { ThreadDecider } from '../../decision/pool/thread-decider.ts';
import type { FromDecisionThread, ToDecisionThread } from '../../decision/pool/thread-messages.ts';
import { openThreadStore } from '../stores/thread-store.ts';
import { insideThread, type ThreadSurroundings } from '../surroundings.ts';
import { type DecidingSetup, followRehearsals, openEngine, threadObservers } from './deciding.ts';
import { openOverLimitCache } from './engine-settings.ts';

/**
 * Decides the batches that arrive over the port, with the engine and the store of this thread. Batches are accepted
 * once the store has started.
 *
 * @returns resolves when the store is closed after `stop`
 */
export async function serveDecisions(task: LastingTask, setup: DecidingSetup): Promise<void> {
  const { port } = task;
  const { settings } = setup;
  const thread = insideThread<FromDecisionThread>('decision', settings, task);
  const opened = await openThreadStore(thread, setup.store);
  const observers = await threadObservers(setup, thread, followRehearsals(thread));
  const decider = new ThreadDecider({
    makeEngine: ({ counters, clock }) => {
      const overLimit = openOverLimitCache(settings, clock, setup.store);
      const own = { store: opened.store, overLimit, counters, clock, nowMs: null, observers };
      return { engine: openEngine(thread, setup, own), overLimit };
    },
    fingerprintKey: setup.store.fingerprintKey,
    threadId,
  });
  const stopped = Promise.withResolvers<void>();
  await opened.start();
  thread.reporter.start();
  acceptMessages<ToDecisionThread>(port, message => {
    if (message.kind === 'decide') void decide(decider, message, thread.post);
    else stopped.resolve();
  });
  port.once('close', stopped.resolve);
  await stopped.promise;
  await opened.stop();
  thread.reporter.stop();
  port.close();
}

async function decide(
  decider: ThreadDecider,
  { number, task }: Extract<ToDecisionThread, { kind: 'decide' }>,
  post: ThreadSurroundings<FromDecisionThread>['post'],
): Promise<void> {
  try {
    const deciding = decider.decide(task);
    const result = deciding instanceof Promise ? await deciding : deciding;
    post({ kind: 'decided', number, result }, [result.requests, result.answers]);
  } catch (failure) {
    post({ kind: 'failed', number, error: asError(failure) });
  }
}
