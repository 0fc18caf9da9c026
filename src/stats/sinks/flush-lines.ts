import { type Counter, PAUSE, type StatsReader } from '../registry.ts';
import type { CounterDeltas, TimerDeltas } from './deltas.ts';
import type { LineFormat } from './line-format.ts';

/** A piece is sent at once. Larger ones would take longer to make than a decision may wait. */
const PIECE_CHARACTERS = 16 * 1024;

/** Longer lines are left out: no datagram could hold them, and they would end each flush. */
const MAX_LINE_CHARACTERS = 16 * 1024;

/** Counters that are looked at in a row, when none of them has grown. */
const COUNTERS_AT_ONCE = 256;

interface FlushParts {
  readonly stats: StatsReader;
  readonly format: LineFormat;
  readonly counters: CounterDeltas;
  readonly timers: TimerDeltas;
  /** Counts lines that are too long. */
  readonly lostLines: Counter;
}

/**
 * What has changed since the flush before, and all gauges, in pieces of whole lines. They are made one by one, as they
 * are asked for. An empty piece is where others may run.
 */
export function* flushLines(parts: FlushParts): Iterable<string> {
  let piece = '';
  for (const line of lines(parts)) {
    if (line.length > MAX_LINE_CHARACTERS) parts.lostLines.add(1);
    else piece += line;
    if (line === '') yield '';
    else if (piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
    }
  }
  parts.counters.flushed();
  if (piece !== '') yield piece;
}

/** Empty ones as well, which are pauses. */
function* lines({ stats, format, counters, timers }: FlushParts): Iterable<string> {
  for (const [name, value] of stats.gauges()) {
    if (Number.isFinite(value)) yield format.gauge(name, value);
  }
  for (const [name, timer] of stats.timers()) {
    for (const durations of timers.take(name, timer)) yield format.timer(name, durations);
  }
  let unchanged = 0;
  for (const counter of stats.counters()) {
    const [name, total] = counter;
    const delta = total === 0 ? 0 : counters.take(name, total);
    if (delta !== 0) yield format.counter(name, delta);
    else if (counter === PAUSE || ++unchanged % COUNTERS_AT_ONCE === 0) yield '';
  }
  const end = format.end();
  if (end !== '') yield end;
}
