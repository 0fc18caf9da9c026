import type { Histogram } from '../../stats/histogram.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';
import type { AnswerObserver } from './exchange.ts';

/**
 * Counts the answers of a route by status (`ratelimit.http.ROUTE.CODE.total_requests`), and measures the time from a
 * whole request to its answer (`ratelimit.http.ROUTE.response_time`). Callers that disconnect before are not counted.
 */
export class RouteStatistics implements AnswerObserver {
  readonly #stats: StatsRegistry;
  readonly #route: string;
  readonly #responseTime: Histogram;
  /** Counters by status, which is a code with a reason: there are few. */
  readonly #counters = new Map<string, Counter>();

  /**
   * @param route a name of letters, digits and `_`
   * @param expected statuses whose counters exist from the start
   */
  constructor(stats: StatsRegistry, route: string, expected: readonly string[]) {
    this.#stats = stats;
    this.#route = route;
    this.#responseTime = stats.timer(`ratelimit.http.${route}.response_time`);
    for (const status of expected) this.#counterOf(status);
  }

  answered(status: string, completeMs: number): void {
    (this.#counters.get(status) ?? this.#counterOf(status)).add(1);
    if (completeMs > 0) this.#responseTime.record(performance.now() - completeMs);
  }

  #counterOf(status: string): Counter {
    const code = Number.parseInt(status, 10);
    const counter = this.#stats.counter(`ratelimit.http.${this.#route}.${code}.total_requests`);
    this.#counters.set(status, counter);
    return counter;
  }
}
