import { insideThread } from '../../../src/app/surroundings.ts';
import {
  acceptMessages,
  type LastingTask,
  type StopThread,
} from '../../../src/base/threads/inside-thread.ts';
import { loadSettings } from '../../../src/settings/load.ts';

/** Message to the thread: reject a promise that nobody awaits, and count that. */
export interface Forget {
  readonly kind: 'forget';
}

/** A thread that forgets promises, until it is stopped. */
export default async function forgetful(task: LastingTask): Promise<void> {
  const { stats, reporter } = insideThread('serving', loadSettings({}), task);
  const stopped = Promise.withResolvers<void>();
  acceptMessages<Forget | StopThread>(task.port, ({ kind }) => {
    if (kind === 'stop') return stopped.resolve();
    void Promise.reject(new Error('forgotten'));
    stats.counter('forgotten').add(1);
  });
  reporter.start();
  await stopped.promise;
  reporter.stop();
  task.port.close();
}
