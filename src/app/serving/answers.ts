import type { Clock, Timer } from '../../base/clock.ts';

interface Question<Thread> {
  /** The threads that have not answered. */
  readonly left: Set<Thread>;
  readonly timer: Timer;
  readonly done: () => void;
}

/** Questions to several threads at once, each of which is over when every thread has answered or ended. */
export class Answers<Thread> {
  readonly #clock: Clock;
  readonly #open = new Map<number, Question<Thread>>();
  #lastNumber = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Asks the threads.
   *
   * @param ask sends the question with this number to a thread
   * @returns resolves when all have answered or ended, or after `boundMs`, with the threads that have done neither
   */
  ask(
    threads: Iterable<Thread>,
    ask: (thread: Thread, number: number) => void,
    boundMs: number,
  ): Promise<ReadonlySet<Thread>> {
    const number = ++this.#lastNumber;
    const left = new Set(threads);
    if (left.size === 0) return Promise.resolve(left);
    return new Promise(resolve => {
      const done = (): void => {
        this.#open.get(number)?.timer.cancel();
        this.#open.delete(number);
        resolve(left);
      };
      this.#open.set(number, { left, timer: this.#clock.after(boundMs, done), done });
      for (const thread of left) ask(thread, number);
    });
  }

  answered(thread: Thread, number: number): void {
    const question = this.#open.get(number);
    question?.left.delete(thread);
    if (question?.left.size === 0) question.done();
  }

  /** Call when a thread has ended: it answers nothing anymore. */
  ended(thread: Thread): void {
    for (const number of [...this.#open.keys()]) this.answered(thread, number);
  }
}
