import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { WatchCommand, WatchSetup } from './decision-watch-thread.ts';

/** How long decisions took while something else went on. Milliseconds. */
export interface WatchReport {
  readonly asked: number;
  /** Calls that did not end with a decision. */
  readonly failed: number;
  /** The longest by the clock. */
  readonly longest: number;
  /**
   * The longest, as far as the service is to blame, so that other programs on the machine do not matter: the time in
   * which the thread that decides, or the one that asks, was ready to run and had no core is left out, and no more is
   * counted than that the thread that decides worked meanwhile. Where the system tells none of this, as `longest`.
   */
  readonly longestOwn: number;
}

/**
 * Asks a running service for a decision every few milliseconds, whether or not answers come, on a thread of its own: what
 * the test does meanwhile does not delay it.
 */
export class DecisionWatch {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  static async start(setup: WatchSetup): Promise<DecisionWatch> {
    const entry = new URL('./decision-watch-thread.js', import.meta.url);
    const watch = new DecisionWatch(new Worker(entry, { workerData: setup }));
    await once(watch.#thread, 'message');
    return watch;
  }

  /** Watches while `run` goes on. */
  async during(run: () => Promise<unknown>): Promise<WatchReport> {
    this.#tell('begin');
    try {
      await run();
    } finally {
      this.#tell('end');
    }
    const [report] = await once(this.#thread, 'message');
    return report as WatchReport;
  }

  async stop(): Promise<void> {
    this.#tell('stop');
    await once(this.#thread, 'exit');
  }

  #tell(command: WatchCommand): void {
    this.#thread.postMessage(command);
  }
}
