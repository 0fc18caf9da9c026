import type { Clock } from '../../base/clock.ts';
import type { RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { OverLimitFigures } from './over-limit-figures.ts';
import type { ThreadReport } from './thread-reporter.ts';
import { ThreadsStats } from './thread-stats.ts';

/** How long a reader of statistics waits for the threads. What is missing then is part of a later read. */
const MAX_WAIT_MS = 1_000;

interface ThreadReportsParts {
  readonly stats: StatsRegistry;
  readonly statistics: RuleStatistics;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitFigures | null;
  readonly clock: Clock;
}

interface ReportingThread {
  /** Asks the thread for a report. */
  readonly ask: (request: number) => void;
  /** The request that the thread has not answered; null if it has answered all of them. */
  unanswered: number | null;
  answered: () => void;
}

/**
 * Adds what serving threads report ({@link ThreadReport}) to the statistics of the process. Before statistics are read,
 * every thread is asked for a report, so callers with an answer find their hits counted.
 *
 * A thread that does not answer in time is not waited for again until it has answered.
 */
export class ThreadReports {
  readonly #parts: ThreadReportsParts;
  readonly #stats: ThreadsStats;
  readonly #threads = new Map<number, ReportingThread>();
  #requests = 0;

  constructor(parts: ThreadReportsParts) {
    this.#parts = parts;
    this.#stats = new ThreadsStats(parts.stats);
    parts.stats.onCollect(() => this.#collect());
  }

  /**
   * Call when a thread accepts messages.
   *
   * @param ask sends a number to the thread, which calls `ThreadReporter.requested` with it
   */
  started(threadId: number, ask: (request: number) => void): void {
    this.#threads.set(threadId, { ask, unanswered: null, answered: () => {} });
  }

  /** Adds a report of a thread. */
  add(threadId: number, { answers, stats, named, overLimit }: ThreadReport): void {
    if (stats !== null) this.#stats.add(threadId, stats);
    if (named !== null) this.#parts.statistics.addReport(named);
    if (overLimit !== null) this.#parts.overLimit?.changed(overLimit);
    const thread = this.#threads.get(threadId);
    if (thread === undefined || answers === null || answers !== thread.unanswered) return;
    thread.unanswered = null;
    thread.answered();
  }

  /** Call when a thread has ended and all of its reports were added. */
  ended(threadId: number): void {
    this.#threads.get(threadId)?.answered();
    this.#threads.delete(threadId);
    this.#stats.ended(threadId);
    this.#parts.overLimit?.ended(threadId);
  }

  /** Asks all threads for a report, and waits for the answers. */
  async #collect(): Promise<void> {
    const request = ++this.#requests;
    const answers: Promise<void>[] = [];
    for (const thread of this.#threads.values()) {
      if (thread.unanswered !== null) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      thread.unanswered = request;
      thread.answered = resolve;
      thread.ask(request);
      answers.push(promise);
    }
    if (answers.length === 0) return;
    const bound = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(MAX_WAIT_MS, bound.resolve);
    await Promise.race([Promise.all(answers), bound.promise]);
    timer.cancel();
  }
}
