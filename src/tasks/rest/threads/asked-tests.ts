import { Fault } from '../../../base/fault.ts';
import type { WorkerTest, WorkerTestAnswer, WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { TurnToRestThread } from './messages.ts';

/** Has tests made by another thread: a REST thread asks the primary, and the primary the thread with the engine. */
export class AskedTests implements WorkerTester {
  readonly #send: (ask: number, test: WorkerTest) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<WorkerTestAnswer>>();
  #lastAsk = 0;

  constructor(send: (ask: number, test: WorkerTest) => void) {
    this.#send = send;
  }

  test(test: WorkerTest): Promise<WorkerTestAnswer> {
    const ask = ++this.#lastAsk;
    const waiting = Promise.withResolvers<WorkerTestAnswer>();
    this.#waiting.set(ask, waiting);
    this.#send(ask, test);
    return waiting.promise;
  }

  /** The other thread has ended. */
  lost(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new Fault('store_failed', 'the thread that makes tests has ended: repeat the request'));
    }
    this.#waiting.clear();
  }

  heard(tested: TurnToRestThread['tested']): void {
    for (const [ask, [answer, reason]] of tested) {
      const waiting = this.#waiting.get(ask);
      this.#waiting.delete(ask);
      if (answer === null) waiting?.reject(new Fault('store_failed', reason));
      else waiting?.resolve(answer);
    }
  }
}
