import { Fault } from '../../../base/fault.ts';
import type { WorkerTest, WorkerTestAnswer, WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { ApiCall, ApiLimits, ApiLimitVerdict } from '../http/parts.ts';
import type { TurnToRestThread } from './messages.ts';

/** Numbered questions to another thread that wait for their answers. */
class Questions<Answer> {
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #last = 0;

  /** @param send sends the question with this number */
  ask(send: (number: number) => void): Promise<Answer> {
    const number = ++this.#last;
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.set(number, waiting);
    send(number);
    return waiting.promise;
  }

  answered(number: number, answer: Answer | Error): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (answer instanceof Error) waiting?.reject(answer);
    else waiting?.resolve(answer);
  }

  /** Rejects all waiting questions. */
  fail(error: Error): void {
    for (const number of [...this.#waiting.keys()]) this.answered(number, error);
  }
}

/**
 * Runs in a REST thread. Sends calls to the thread with the decision engine, which checks the API limits. Most calls
 * have been checked before they arrive here; see `EarlyLimits`.
 */
export class AskedLimits implements ApiLimits {
  readonly #send: (ask: number, call: ApiCall, authorization: string) => void;
  readonly #questions = new Questions<ApiLimitVerdict>();

  constructor(send: (ask: number, call: ApiCall, authorization: string) => void) {
    this.#send = send;
  }

  /** @throws (rejects with) Error if the call could not be checked */
  ask(call: ApiCall, authorization: string): Promise<ApiLimitVerdict> {
    return this.#questions.ask(ask => this.#send(ask, call, authorization));
  }

  heard(verdicts: TurnToRestThread['verdicts']): void {
    for (const [ask, [verdict, reason]] of verdicts) {
      this.#questions.answered(ask, verdict ?? new Error(reason));
    }
  }
}

/** Sends worker tests to another thread: REST threads ask the primary thread, which asks the thread of the engine. */
export class AskedTests implements WorkerTester {
  readonly #send: (ask: number, test: WorkerTest) => void;
  readonly #questions = new Questions<WorkerTestAnswer>();

  constructor(send: (ask: number, test: WorkerTest) => void) {
    this.#send = send;
  }

  test(test: WorkerTest): Promise<WorkerTestAnswer> {
    return this.#questions.ask(ask => this.#send(ask, test));
  }

  /** Rejects all waiting tests, because the other thread has ended. */
  lost(): void {
    this.#questions.fail(
      new Fault('store_failed', 'The thread that sends tests has ended. Retry the request.'),
    );
  }

  heard(tested: TurnToRestThread['tested']): void {
    for (const [ask, [answer, reason]] of tested) {
      this.#questions.answered(ask, answer ?? new Fault('store_failed', reason));
    }
  }
}
