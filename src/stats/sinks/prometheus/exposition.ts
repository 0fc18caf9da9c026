import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import { PAUSE, type StatsRegistry } from '../../registry.ts';
import type { Tag } from '../line-formats.ts';
import { Families, type Family } from './families.ts';
import { Mapper } from './mapper.ts';
import { DEFAULT_QUANTILES, type Mappings } from './mapping.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { helpText, observerLines, seriesText, valueText } from './text-format.ts';

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** After this many counters or series, other work may run. */
const ITEMS_PER_PAUSE = 128;

/** Maximum number of metrics whose conflicts are logged, because names may contain values from requests. */
const MAX_LOGGED = 100;

/** Of statistics that are not mapped, and of mappings in a file without a help text. */
const WITHOUT_HELP = 'A statistic of Sluice.';

interface ExpositionOptions {
  readonly stats: StatsRegistry;
  readonly mappings: Mappings;
  /** Become labels of every metric. */
  readonly tags: readonly Tag[];
  /** The version of this program. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Statistics in the text format of Prometheus. Between two scrapes, only series with a time to live are remembered.
 */
export class Exposition {
  readonly #options: ExpositionOptions;
  readonly #mapper: Mapper;
  readonly #ageing = new Ageing();
  /** Metrics whose conflict has been logged. */
  readonly #logged = new Set<string>();
  readonly #process: ProcessMetrics;

  constructor(options: ExpositionOptions) {
    this.#options = options;
    this.#mapper = new Mapper(options.mappings, options.tags);
    this.#process = new ProcessMetrics(options.version, options.stats, options.clock);
  }

  /** Fetches what other threads have counted ({@link StatsRegistry.collect}) and metrics of the process. */
  async collect(): Promise<void> {
    await Promise.all([this.#options.stats.collect(), this.#process.collect()]);
  }

  /** The page, produced on demand. After an empty string, the reader may let other work run. */
  *lines(): Iterable<string> {
    const families = new Families();
    yield* this.#gather(families);
    this.#logConflicts(families.conflicts);
    const pass = this.#ageing.startPass(this.#options.clock.nowMs());
    for (const family of families) yield* this.#familyLines(families, family, pass);
    pass.done();
    yield this.#process.lines(this.#mapper.tagLabels);
  }

  *#gather(families: Families): Iterable<''> {
    const { stats } = this.#options;
    for (const [name, value] of stats.gauges()) this.#add(families, name, 'gauge', value);
    for (const [name, timer] of stats.timers()) {
      const mapped = this.#mapper.map(name, 'observer');
      if (mapped === null) continue;
      families.addTimer(mapped, timer);
      if (mapped.former !== null) families.addTimer(mapped.former, timer);
    }
    // Counters start with 0, because a series that starts with the first failure shows no increase.
    for (const name of stats.counterNames()) this.#add(families, name, 'counter', 0);
    let handled = 0;
    for (const counter of stats.counters()) {
      if (counter === PAUSE || ++handled % ITEMS_PER_PAUSE === 0) yield '';
      if (counter !== PAUSE) this.#add(families, counter[0], 'counter', counter[1]);
    }
  }

  #add(families: Families, name: string, kind: 'counter' | 'gauge', value: number): void {
    for (let mapped = this.#mapper.map(name, kind); mapped !== null; mapped = mapped.former) {
      const { mapping } = mapped;
      families.add(mapped, mapping?.onlyGrows ? 'counter' : kind, value * (mapping?.scale ?? 1));
    }
  }

  *#familyLines(families: Families, family: Family, pass: Pass): Iterable<string> {
    const { metric, kind, mapping } = family;
    const observer = mapping?.observer ?? { type: 'summary' as const, quantiles: DEFAULT_QUANTILES };
    yield `${this.#helpLine(family)}# TYPE ${metric} ${kind === 'observer' ? observer.type : kind}\n`;
    const ttlMs = mapping?.ttlMs ?? 0;
    const isOld = (labels: string, value: number): boolean =>
      ttlMs > 0 && pass.isOld(seriesText(metric, labels), value, ttlMs);
    for (const [labels, timer] of family.timers ?? []) {
      if (isOld(labels, timer.count)) continue;
      yield observerLines({ metric, labels, timer, observer, scale: mapping?.scale ?? 1 });
    }
    let handled = 0;
    for (const { labels, value } of families.series(family)) {
      if (!isOld(labels, value)) yield `${seriesText(metric, labels)} ${valueText(value)}\n`;
      if (++handled % ITEMS_PER_PAUSE === 0) yield '';
    }
  }

  #helpLine({ metric, mapping }: Family): string {
    const help = mapping?.help || this.#mapper.helpOf(metric) || WITHOUT_HELP;
    return `# HELP ${metric} ${helpText(help)}\n`;
  }

  /** Logs each conflict only once, because there is a scrape every few seconds. */
  #logConflicts(metrics: ReadonlySet<string>): void {
    for (const metric of metrics) {
      if (this.#logged.has(metric) || this.#logged.size >= MAX_LOGGED) continue;
      this.#logged.add(metric);
      this.#options.logger.warning(
        'Statistics of different kinds map to one metric; only those of the first kind are exported. Change PULLSTATS_MAPPER_YAML',
        { metric },
      );
    }
  }
}

interface Seen {
  readonly value: number;
  readonly sinceMs: number;
}

/** Finds series with a time to live that have not changed for that time. Changes are noticed only when it is asked. */
class Ageing {
  #seen: ReadonlyMap<string, Seen> = new Map();

  /** Starts a pass over all series. */
  startPass(nowMs: number): Pass {
    const before = this.#seen;
    const found = new Map<string, Seen>();
    return {
      isOld(series, value, ttlMs) {
        const last = before.get(series);
        const seen = last?.value === value ? last : { value, sinceMs: nowMs };
        found.set(series, seen);
        return nowMs - seen.sinceMs > ttlMs;
      },
      done: () => {
        this.#seen = found;
      },
    };
  }
}

interface Pass {
  /** True if the series has had this value for longer than `ttlMs`. */
  isOld(series: string, value: number, ttlMs: number): boolean;
  /** Ends the pass. Series that were not part of it are forgotten. */
  done(): void;
}
