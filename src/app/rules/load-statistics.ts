import type { Clock } from '../../base/clock.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../rules/rule-set.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';

/** Number of hex digits of a digest in a statistic: 48 bits, which every system for statistics stores exactly. */
const DIGEST_DIGITS = 12;

/** Counts the loads of rules, and shows when the last ones were, whether the last one succeeded, and which rules are active. */
export class LoadStatistics {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #success: Counter;
  readonly #error: Counter;
  #isLastSuccessful = false;
  /** Seconds since the epoch; 0 before the first load. */
  #lastS = 0;
  #lastSuccessS = 0;
  /** 0 before the first load. */
  #digest = 0;

  constructor(stats: StatsRegistry, clock: Pick<Clock, 'nowMs'>) {
    const name = 'ratelimit.service.config_';
    this.#clock = clock;
    this.#success = stats.counter(`${name}load_success`);
    this.#error = stats.counter(`${name}load_error`);
    stats.gauge(`${name}last_load_successful`, () => Number(this.#isLastSuccessful));
    stats.gauge(`${name}last_load_time`, () => this.#lastS);
    stats.gauge(`${name}last_success_time`, () => this.#lastSuccessS);
    stats.gauge(`${name}digest`, () => this.#digest);
  }

  /** @param digest of the rules that are active now */
  succeeded(digest: string): void {
    this.#digest = Number.parseInt(digest.slice(0, DIGEST_DIGITS), 16);
    this.#success.add(1);
    this.#ended(true);
    this.#lastSuccessS = this.#lastS;
  }

  failed(): void {
    this.#error.add(1);
    this.#ended(false);
  }

  #ended(isSuccessful: boolean): void {
    this.#isLastSuccessful = isSuccessful;
    this.#lastS = this.#clock.nowMs() / 1_000;
  }
}

/** Counts the reads of the rule files (`runtime.*`) and passes their outcomes on to a loader. */
export class CountedFileReads implements RuleSetLoader {
  readonly #loader: RuleSetLoader;
  readonly #attempts: Counter;
  readonly #failures: Counter;
  /** Number of rule files in the last successful read. */
  #fileCount = 0;

  constructor(loader: RuleSetLoader, stats: StatsRegistry) {
    this.#loader = loader;
    this.#attempts = stats.counter('runtime.load_attempts');
    this.#failures = stats.counter('runtime.load_failures');
    stats.gauge('runtime.num_values', () => this.#fileCount);
  }

  load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    this.#attempts.add(1);
    this.#fileCount = files.length;
    return this.#loader.load(files);
  }

  refuse(reasons: readonly string[]): void {
    this.#attempts.add(1);
    this.#failures.add(1);
    this.#loader.refuse(reasons);
  }
}
