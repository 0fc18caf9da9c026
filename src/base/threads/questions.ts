import { type Clock, within } from '../clock.ts';
import { asError, Fault } from '../fault.ts';

/** What a thread answers to a question of another one. If it has no answer, that is null, and the reason follows. */
export type ThreadAnswer<Answer> = readonly [answer: Answer | null, reason: string];

/** In the thread that answers: returns what is sent back. Never rejects, whether `answer` throws or rejects. */
export async function threadAnswer<Answer>(answer: () => Promise<Answer>): Promise<ThreadAnswer<Answer>> {
  try {
    return [await answer(), ''];
  } catch (failure) {
    return [null, asError(failure).message];
  }
}

/**
 * Questions to another thread that wait for their answers. The messages of both directions have their numbers. Whoever
 * asks bounds the number of questions.
 */
export class Questions<Answer> {
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #last = 0;

  /**
   * @param send sends the question with this number
   * @throws (rejects with) Fault `store_failed` if the other thread has no answer, or has ended
   */
  ask(send: (number: number) => void): Promise<Answer> {
    const number = ++this.#last;
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.set(number, waiting);
    send(number);
    return waiting.promise;
  }

  /** Call with the answer to the question with this number. Does nothing if nobody waits for it. */
  answered(number: number, [answer, reason]: ThreadAnswer<Answer>): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (answer === null) waiting?.reject(new Fault('store_failed', reason));
    else waiting?.resolve(answer);
  }

  /** Rejects all waiting questions, because the other thread has ended. */
  lost(reason: string): void {
    for (const number of [...this.#waiting.keys()]) this.answered(number, [null, reason]);
  }
}

/**
 * Asks several threads, and waits until each of them has answered or ended, but not longer than `boundMs`. Returns the
 * threads that have done neither.
 *
 * @param ask asks a thread; rejects if the thread ends
 */
export async function askAll<Thread>(
  threads: Iterable<Thread>,
  ask: (thread: Thread) => Promise<unknown>,
  clock: Pick<Clock, 'after'>,
  boundMs: number,
): Promise<ReadonlySet<Thread>> {
  const left = new Set(threads);
  if (left.size === 0) return left;
  const over = [...left].map(async thread => {
    await ask(thread).catch(() => {});
    left.delete(thread);
  });
  await within(clock, boundMs, Promise.all(over));
  return left;
}
