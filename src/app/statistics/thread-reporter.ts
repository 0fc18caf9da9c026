import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../base/clock.ts';
import type { OverLimitCache } from '../../decision/over-limit-cache.ts';
import { OverLimitDeltas } from '../../decision/pool/over-limit-deltas.ts';
import type { OverLimitDelta } from '../../decision/pool/thread-messages.ts';
import type { NamedReport } from '../../decision/statistics/rule-statistics.ts';
import type { ThreadNames } from '../../decision/statistics/thread-names.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { REPORT_MS, type StatsChange, StatsChanges } from './thread-stats.ts';

/** What a serving thread has counted since its last report. Null for what has not changed. */
export interface ThreadReport {
  /**
   * The number of the request that this report completes; null for none. With it, everything that the thread had counted
   * when it received the request is reported.
   */
  readonly answers: number | null;
  readonly stats: StatsChange | null;
  readonly named: NamedReport | null;
  readonly overLimit: OverLimitDelta | null;
}

interface ThreadReporterParts {
  readonly stats: StatsRegistry;
  /** Statistics with names made from request values. */
  readonly names: ThreadNames;
  /** The local cache of the thread; null if disabled. */
  readonly overLimit: OverLimitCache | null;
  readonly threadId: number;
  /** Sends a report to the primary thread, which passes it to `ThreadReports.add`. */
  readonly tell: (report: ThreadReport) => void;
  readonly clock: Clock;
}

const NOTHING: ThreadReport = { answers: null, stats: null, named: null, overLimit: null };

/** Runs in a serving thread: reports what the thread has counted, every second and on request. */
export class ThreadReporter {
  readonly #parts: ThreadReporterParts;
  readonly #changes: StatsChanges;
  readonly #overLimit: OverLimitDeltas | null;
  #timer: Timer | null = null;
  /** The last request that is not answered. */
  #requested: number | null = null;
  #isReporting = false;
  #stopped = false;

  constructor(parts: ThreadReporterParts) {
    const { stats, overLimit, threadId } = parts;
    this.#parts = parts;
    this.#changes = new StatsChanges(stats);
    this.#overLimit = overLimit === null ? null : new OverLimitDeltas(overLimit, threadId);
  }

  /** Reports now and every second. */
  start(): void {
    if (!this.#isReporting) void this.#report();
    this.#timer = this.#parts.clock.after(REPORT_MS, () => this.start());
  }

  /** Reports now, as the answer to the request with this number. */
  requested(request: number): void {
    this.#requested = request;
    if (!this.#isReporting) void this.#report();
  }

  /** Makes the last report, immediately. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const named of this.#parts.names.take()) this.#parts.tell({ ...NOTHING, named });
    this.#tellRest(this.#requested);
  }

  async #report(): Promise<void> {
    const { names, tell } = this.#parts;
    this.#isReporting = true;
    do {
      const answers = this.#requested;
      this.#requested = null;
      for (const named of names.take()) {
        tell({ ...NOTHING, named });
        await nextTurn();
        if (this.#stopped) return;
      }
      this.#tellRest(answers);
      // A request that arrived meanwhile needs a report that begins after it.
    } while (this.#requested !== null);
    this.#isReporting = false;
  }

  #tellRest(answers: number | null): void {
    const stats = this.#changes.take();
    const overLimit = this.#overLimit?.take() ?? null;
    if (answers === null && stats === null && overLimit === null) return;
    this.#parts.tell({ answers, stats, named: null, overLimit });
  }
}
