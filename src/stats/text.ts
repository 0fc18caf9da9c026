import type { Histogram } from './histogram.ts';
import type { CounterTotal, StatsReader } from './registry.ts';

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
