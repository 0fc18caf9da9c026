import { workerData } from 'piscina';
import type { FromEngineThread, ToEngineThread } from '../../../src/app/tasks/engine-messages.ts';
import { acceptMessages, type LastingTask } from '../../../src/base/threads/inside-thread.ts';

/** What a test gives its engine threads. */
export interface FakeEngineSetup {
  /** How many threads have begun. */
  readonly begun: Int32Array<SharedArrayBuffer>;
  /** What the engine of each thread does, by its number from 1; the last one is for all that follow. */
  readonly engines: readonly ('runs' | 'fails' | 'exits on drain' | 'loops')[];
}

const { begun, engines } = workerData as FakeEngineSetup;
const number = Atomics.add(begun, 0, 1) + 1;
const engine = engines[Math.min(number, engines.length) - 1];

const FULL = { cause: 'disk_full', text: 'the disk is full' } as const;

/** A thread that writes down in its log what the owner of the engine sends. The first one has a full disk. */
export default function tasks({ port }: LastingTask): Promise<void> {
  const post = (message: FromEngineThread): void => port.postMessage(message);
  const log = (message: string): void => post({ kind: 'log', level: 'info', message, fields: undefined });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  acceptMessages<ToEngineThread>(port, message => {
    log(`${number}: ${message.kind}`);
    if (message.kind === 'begin') {
      if (engine === 'fails') {
        post({ kind: 'not_begun', reason: 'no engine' });
        reject(new Error('no engine'));
      } else {
        if (number === 1) post({ kind: 'not_ready', part: 'task_store', notReady: FULL });
        post({ kind: 'begun' });
      }
      post({
        kind: 'stats',
        stats: { counters: [['tasks.done', 1]], gauges: [['tasks.due', 3]], timers: [] },
      });
      if (engine === 'loops') for (;;);
    } else if (message.kind === 'drain') {
      if (engine === 'exits on drain') process.exit(3);
      post({ kind: 'drained' });
    } else if (message.kind === 'test') {
      const { ask, test } = message;
      if (test.workerId === 'silent') return;
      post({ kind: 'tested', ask, answer: [{ kind: 'impossible', reason: 'gone' }, ''] });
    } else if (message.kind === 'signals') message.port.once('message', () => process.exit(3));
    else if (message.kind === 'stop') {
      port.close();
      resolve();
    }
  });
  return promise;
}
