import type { Histogram } from '../../stats/histogram.ts';
import type { CounterTotal, StatsReader } from '../../stats/registry.ts';
import { errorAnswer, TEXT_PAGE, textAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Handler, Route } from '../http/routes.ts';

/** Pages of any length are made for this many readers at once; each of them costs the decisions some time. */
export const MAX_PAGE_READERS = 8;

const TOO_MANY_READERS = errorAnswer({
  code: 'overloaded',
  message: `${MAX_PAGE_READERS} clients are already reading /rlconfig or /stats; retry when one of them has finished`,
});

/** The pages that may be long, and how many are being read. */
class LongPages {
  #readers = 0;

  /** Sends the lines while they are made. */
  async send(exchange: Exchange, lines: () => Iterable<string>): Promise<void> {
    if (this.#readers === MAX_PAGE_READERS) return exchange.answer(TOO_MANY_READERS);
    this.#readers++;
    try {
      await exchange.stream(TEXT_PAGE, lines());
    } catch (thrown) {
      exchange.fail(thrown);
    } finally {
      this.#readers--;
    }
  }
}

/**
 * `/rlconfig`: the rules in force, as `dump` writes them; empty while none are loaded. `/stats`: every statistic, one
 * `name: value` line each (spec 4.3). They share one bound of readers.
 */
export function longPageRoutes(dump: () => Iterable<string>, stats: StatsReader): Route[] {
  const pages = new LongPages();
  return [
    {
      path: '/rlconfig',
      method: 'GET or POST',
      help: 'the active rules, one line per limit',
      handle: exchange => void pages.send(exchange, dump),
    },
    {
      path: '/stats',
      method: 'GET or POST',
      help: 'the statistics since the start of the process',
      handle: exchange => void pages.send(exchange, () => statsLines(stats)),
    },
  ];
}

/** `/` and the answer to unknown paths: one line `<path>: <help>` per route, sorted by path. */
export function indexPages(routes: readonly Route[]): { readonly root: Route; readonly unknown: Handler } {
  const lines = routes.map(route => `${route.path}: ${route.help}\n`);
  const page = lines.sort().join('');
  const found = textAnswer(page);
  // The reference implementation says 200 here, which hides a mistyped path from scripts.
  const notFound = textAnswer(page, '404 Not Found');
  return {
    root: { path: '/', method: 'GET or POST', help: 'this list', handle: exchange => exchange.answer(found) },
    unknown: exchange => exchange.answer(notFound),
  };
}

/** The quantiles that a timer is shown with, by the end of their names. */
const QUANTILES = { p50_ms: 0.5, p95_ms: 0.95, p99_ms: 0.99 };

/** Names may hold text of callers, who could otherwise write lines of their own. */
const LINE_BREAKS = /[\r\n]/g;

/**
 * Statistics as lines, `name: value` each: gauges and timers by name in the order of UTF-16, then counters in theirs.
 * A timer `t` gives `t.count`, `t.sum_ms`, `t.max_ms`, `t.p50_ms`, `t.p95_ms` and `t.p99_ms`, in milliseconds to the
 * microsecond. Lines are made as they are asked for; an empty text is where the reader may let others run.
 */
export function* statsLines(stats: StatsReader): Iterable<string> {
  // A few dozen of these; sorting the counters of all rules with them would stop the process for a second.
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
