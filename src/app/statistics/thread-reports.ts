import type { Clock } from '../../base/clock.ts';
import { askAll } from '../../base/threads/questions.ts';

/** How long a reader of statistics waits for the threads. What is missing then is part of a later read. */
const MAX_WAIT_MS = 1_000;

/**
 * Before statistics are read, every serving thread is asked to report what it has counted, so callers with an answer find
 * their hits counted. A thread that does not answer in time is not asked again until it has answered.
 */
export class ThreadReports<Thread> {
  readonly #threads: () => Iterable<Thread>;
  readonly #ask: (thread: Thread) => Promise<unknown>;
  readonly #clock: Clock;
  /** The threads that have not answered. */
  readonly #asked = new Set<Thread>();

  /**
   * @param threads returns the threads that accept messages
   * @param ask asks a thread for a report; rejects if the thread ends
   */
  constructor(threads: () => Iterable<Thread>, ask: (thread: Thread) => Promise<unknown>, clock: Clock) {
    this.#threads = threads;
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Asks for reports, and waits for them. */
  async collect(): Promise<void> {
    const threads = [...this.#threads()].filter(thread => !this.#asked.has(thread));
    const ask = async (thread: Thread): Promise<void> => {
      this.#asked.add(thread);
      try {
        await this.#ask(thread);
      } finally {
        this.#asked.delete(thread);
      }
    };
    await askAll(threads, ask, this.#clock, MAX_WAIT_MS);
  }
}
