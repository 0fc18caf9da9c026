import type { Histogram } from '../../stats/histogram.ts';
import type { CounterTotal, StatsReader } from '../../stats/registry.ts';
import { errorAnswer, TEXT_PAGE, textAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Handler, Route } from '../http/routes.ts';

/** Maximum number of concurrent readers of long pages. Each of them takes some time from decisions. */
export const MAX_PAGE_READERS = 8;

const TOO_MANY_READERS = errorAnswer({
  code: 'overloaded',
  message: `${MAX_PAGE_READERS} clients are already reading /rlconfig, /stats or /xds-dump; retry when one of them has finished`,
});

/** What pages show of the rules. */
export interface RuleDumps {
  /** The lines of the active rules, for `/rlconfig`; no lines while no rules are loaded. */
  readonly dumpRules: () => Iterable<string>;
  /** YAML documents, for `/xds-dump`. */
  readonly dumpResources: () => Iterable<string>;
}

/** Limits the number of long pages that are being sent. */
class LongPages {
  #readers = 0;

  /** Sends the lines as they are produced, once `prepared` has resolved. */
  async send(
    exchange: Exchange,
    lines: () => Iterable<string>,
    prepared: () => Promise<void> | null = () => null,
  ): Promise<void> {
    if (this.#readers === MAX_PAGE_READERS) return exchange.answer(TOO_MANY_READERS);
    this.#readers++;
    try {
      const preparing = prepared();
      if (preparing !== null) await preparing;
      await exchange.stream(TEXT_PAGE, lines());
    } catch (thrown) {
      exchange.fail(thrown);
    } finally {
      this.#readers--;
    }
  }
}

/**
 * `/rlconfig`: the active rules, as `dumpRules` writes them; empty while no rules are loaded. `/stats`: every statistic,
 * one `name: value` line each (spec 4.3). `/xds-dump`: the resources of xDS servers. The limit of readers applies to all
 * pages together.
 */
export function longPageRoutes({ dumpRules, dumpResources }: RuleDumps, stats: StatsReader): Route[] {
  const pages = new LongPages();
  return [
    {
      path: '/rlconfig',
      method: 'GET or POST',
      help: 'the active rules, one line per limit',
      handle: exchange => void pages.send(exchange, dumpRules),
    },
    {
      path: '/xds-dump',
      method: 'GET or POST',
      help: 'the resources of the xDS servers, as YAML; empty if the rules are from files',
      handle: exchange => void pages.send(exchange, dumpResources),
    },
    {
      path: '/stats',
      method: 'GET or POST',
      help: 'the statistics since the start of the process',
      handle: exchange =>
        void pages.send(
          exchange,
          () => statsLines(stats),
          () => stats.collect(),
        ),
    },
  ];
}

/** `/` and the answer to unknown paths: one line `<path>: <help>` per route, sorted by path. */
export function indexPages(routes: readonly Route[]): { readonly root: Route; readonly unknown: Handler } {
  const lines = routes.map(route => `${route.path}: ${route.help}\n`);
  const page = lines.sort().join('');
  const found = textAnswer(page);
  // The reference implementation answers with 200 here, which hides a mistyped path from scripts.
  const notFound = textAnswer(page, '404 Not Found');
  return {
    root: { path: '/', method: 'GET or POST', help: 'this list', handle: exchange => exchange.answer(found) },
    unknown: exchange => exchange.answer(notFound),
  };
}

/** The quantiles that are shown for a timer, by the suffix of their names. */
const QUANTILES = { p50_ms: 0.5, p95_ms: 0.95, p99_ms: 0.99 };

/** Names may contain text from callers, who could otherwise add lines to the page. */
const LINE_BREAKS = /[\r\n]/g;

/**
 * Statistics as lines of the form `name: value`: gauges and timers sorted by name, then counters in the order of
 * {@link StatsReader}. A timer `t` gives `t.count`, `t.sum_ms`, `t.max_ms`, `t.p50_ms`, `t.p95_ms` and `t.p99_ms`, in
 * milliseconds with three decimals. Lines are produced on demand. An empty string means that the reader may let other
 * work run.
 */
export function* statsLines(stats: StatsReader): Iterable<string> {
  // These are a few dozen. Sorting the counters of all rules as well would block the process for a second.
  const few = [...stats.gauges(), ...timerValues(stats.timers())];
  few.sort(([one], [other]) => (one < other ? -1 : 1));
  for (const value of few) yield line(value);
  for (const counter of stats.counters()) yield counter[1] === 0 ? '' : line(counter);
}

function* timerValues(timers: ReadonlyMap<string, Histogram>): Iterable<CounterTotal> {
  for (const [name, timer] of timers) {
    yield [`${name}.count`, timer.count];
    yield [`${name}.sum_ms`, roundedMs(timer.sumMs)];
    yield [`${name}.max_ms`, roundedMs(timer.maxMs)];
    for (const [ending, quantile] of Object.entries(QUANTILES)) {
      yield [`${name}.${ending}`, roundedMs(timer.quantileMs(quantile))];
    }
  }
}

function line([name, value]: CounterTotal): string {
  return `${name.replace(LINE_BREAKS, '_')}: ${value}\n`;
}

function roundedMs(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
