import { asError, Fault } from '../../../base/fault.ts';
import type { StartLimit } from '../../model/documents.ts';

/** A question to the decision service: how many tasks of a worker may start? */
export interface LimitQuestion {
  readonly tenant: string;
  readonly limit: StartLimit;
  /** One hit is counted for each task. 0 counts nothing, and tells whether the limit is used up. */
  readonly tasks: number;
}

export interface LimitVerdict {
  /** How many tasks may start: their hits are counted. */
  readonly granted: number;
  /** No further task may start before the window of the limit ends. */
  readonly isUsedUp: boolean;
  /** How many more tasks may start in the window, as far as is known; null if there is no bound. */
  readonly remaining: number | null;
  /** How long the window lasts from now on, and when it ends by the asker's clock; null if no rule limits the descriptor. */
  readonly window: { readonly leftMs: number; readonly endsAtMs: number } | null;
}

/** Hits of tasks that did not start after all. */
export interface UnusedHits extends LimitQuestion {
  /** From the verdict. Hits of a window that has ended are not given back. */
  readonly endsAtMs: number;
}

/** Asks the decision service about starts of tasks. */
export interface LimitAsker {
  /** @throws (rejects with) Error if there is no decision */
  ask(question: LimitQuestion): Promise<LimitVerdict>;
  giveBack(unused: UnusedHits): void;
}

/** A verdict, or null and the reason why the decision service gave no verdict. */
type LimitVerdictMessage = readonly [verdict: LimitVerdict | null, reason: string];

/** Messages of a thread to the thread that has the decision engine. */
export type LimitAskMessage =
  | { readonly kind: 'limit_asked'; readonly ask: number; readonly question: LimitQuestion }
  | { readonly kind: 'limit_unused'; readonly unused: UnusedHits };

/** The answer to `limit_asked` with the same number. */
export interface LimitAnswerMessage {
  readonly kind: 'limit_answered';
  readonly ask: number;
  readonly answer: LimitVerdictMessage;
}

/** Asks the decision service of another thread. */
export class AskedStartLimits implements LimitAsker {
  readonly #send: (message: LimitAskMessage) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<LimitVerdict>>();
  #lastAsk = 0;

  constructor(send: (message: LimitAskMessage) => void) {
    this.#send = send;
  }

  ask(question: LimitQuestion): Promise<LimitVerdict> {
    const ask = ++this.#lastAsk;
    const waiting = Promise.withResolvers<LimitVerdict>();
    this.#waiting.set(ask, waiting);
    this.#send({ kind: 'limit_asked', ask, question });
    return waiting.promise;
  }

  giveBack(unused: UnusedHits): void {
    this.#send({ kind: 'limit_unused', unused });
  }

  heard({ ask, answer: [verdict, reason] }: LimitAnswerMessage): void {
    const waiting = this.#waiting.get(ask);
    this.#waiting.delete(ask);
    if (verdict === null) waiting?.reject(new Fault('store_failed', reason));
    else waiting?.resolve(verdict);
  }
}

/** Passes a message of a thread on to `asker`. `answer` is called with the answer, if there is one. */
export function askForThread(
  asker: LimitAsker,
  message: LimitAskMessage,
  answer: (message: LimitAnswerMessage) => void,
): void {
  if (message.kind === 'limit_unused') {
    asker.giveBack(message.unused);
    return;
  }
  const { ask, question } = message;
  asker.ask(question).then(
    verdict => answer({ kind: 'limit_answered', ask, answer: [verdict, ''] }),
    (failure: unknown) => answer({ kind: 'limit_answered', ask, answer: [null, asError(failure).message] }),
  );
}
