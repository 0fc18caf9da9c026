import type { Histogram } from '../stats/histogram.ts';
import type { StatsRegistry } from '../stats/registry.ts';

/** How a call of a counter store ended. `partial`: some keys of the batch could not be counted. */
export type CallOutcome = 'ok' | 'partial' | 'timeout' | 'error';

const OUTCOMES: readonly CallOutcome[] = ['ok', 'partial', 'timeout', 'error'];

/**
 * The durations of the calls of a counter store by outcome: `ratelimit.store.STORE.OUTCOME.response_time`. Each call is
 * for one batch. Calls that only read or reset counters for operators are not measured.
 */
export class StoreCalls {
  readonly #timers: Readonly<Record<CallOutcome, Histogram>>;

  /**
   * @param store for example `redis`
   * @param outcomes how calls of this store can end
   */
  constructor(stats: StatsRegistry, store: string, outcomes: readonly CallOutcome[] = OUTCOMES) {
    const timers = outcomes.map(outcome => [
      outcome,
      stats.timer(`ratelimit.store.${store}.${outcome}.response_time`),
    ]);
    this.#timers = Object.fromEntries(timers);
  }

  /** @param startedMs `performance.now()` when the call started */
  ended(outcome: CallOutcome, startedMs: number): void {
    this.#timers[outcome].record(performance.now() - startedMs);
  }
}
