import { Fault } from '../../../base/fault.ts';
import type { WorkerTest, WorkerTestAnswer, WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { ApiCall, ApiLimits, ApiLimitVerdict } from '../http/parts.ts';
import type { TurnToRestThread } from './messages.ts';

/**
 * Runs in a REST thread. Sends calls to the thread with the decision engine, which checks the API limits. Most calls
 * have been checked before they arrive here; see `EarlyLimits`.
 */
export class AskedLimits implements ApiLimits {
  readonly #send: (ask: number, call: ApiCall, authorization: string) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<ApiLimitVerdict>>();
  #lastAsk = 0;

  constructor(send: (ask: number, call: ApiCall, authorization: string) => void) {
    this.#send = send;
  }

  /** @throws (rejects with) Error if the call could not be checked */
  ask(call: ApiCall, authorization: string): Promise<ApiLimitVerdict> {
    const ask = ++this.#lastAsk;
    const waiting = Promise.withResolvers<ApiLimitVerdict>();
    this.#waiting.set(ask, waiting);
    this.#send(ask, call, authorization);
    return waiting.promise;
  }

  heard(verdicts: TurnToRestThread['verdicts']): void {
    for (const [ask, [verdict, reason]] of verdicts) {
      const waiting = this.#waiting.get(ask);
      this.#waiting.delete(ask);
      if (verdict === null) waiting?.reject(new Error(reason));
      else waiting?.resolve(verdict);
    }
  }
}

/** Sends worker tests to another thread: REST threads ask the primary thread, which asks the thread of the engine. */
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

  /** Rejects all waiting tests, because the other thread has ended. */
  lost(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new Fault('store_failed', 'The thread that sends tests has ended. Retry the request.'));
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
