import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Timer, within } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Outage } from '../../base/outage-log.ts';
import { type Counter, PAUSE, type StatsReader } from '../registry.ts';
import { CounterDeltas, TimerDeltas } from './deltas.ts';
import type { LineFormat } from './line-formats.ts';
import type { LineOutput } from './line-output.ts';

/** Timeout of the last flush, so that an unavailable receiver does not delay the shutdown. */
export const LAST_FLUSH_MS = 2_000;

interface PushSinkOptions {
  readonly stats: StatsReader;
  readonly format: LineFormat;
  readonly output: LineOutput;
  readonly intervalMs: number;
  /** Counts flushes that failed. */
  readonly failedFlushes: Counter;
  /** Counts lines that were in flight when a flush failed, and lines that are too long. */
  readonly lostLines: Counter;
  /** Logs the availability of the receiver. */
  readonly outage: Outage;
  readonly clock: Clock;
}

/**
 * Sends statistics at an interval, and once more during shutdown.
 *
 * Lines are produced in pieces. The next piece is produced when the previous one has been sent, so a slow receiver
 * costs the memory of one piece, and decisions run between two pieces. A flush that takes longer than the interval
 * delays the next one. Changes that were not sent are part of the next flush. Only lines in flight to a receiver that
 * fails are lost.
 */
export class PushSink implements Service {
  readonly name: string;
  readonly #options: PushSinkOptions;
  readonly #counters = new CounterDeltas();
  readonly #timers = new TimerDeltas();
  #timer: Timer | null = null;
  #flushing: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #outputClosed = false;

  constructor(options: PushSinkOptions) {
    this.name = options.output.name;
    this.#options = options;
  }

  async start(): Promise<void> {
    if (this.#stopped !== null) return;
    this.#options.output.open();
    this.#waitForNext();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const started = this.#timer !== null;
    this.#timer?.cancel();
    if (started) await within(this.#options.clock, LAST_FLUSH_MS, this.#lastFlush());
    this.#outputClosed = true;
    this.#options.output.close();
  }

  #waitForNext(): void {
    const { clock, intervalMs } = this.#options;
    this.#timer = clock.after(intervalMs, () => {
      this.#waitForNext();
      this.#flushing ??= this.#flush().finally(() => {
        this.#flushing = null;
      });
    });
  }

  async #lastFlush(): Promise<void> {
    await this.#flushing;
    await this.#flush();
    await this.#options.output.end().catch(() => {});
  }

  /** Never rejects: failures are counted and logged. */
  async #flush(): Promise<void> {
    try {
      await this.#send();
    } catch (failure) {
      this.#failed(asError(failure));
      return;
    }
    this.#options.outage.succeeded(this.name);
  }

  async #send(): Promise<void> {
    const { stats, output } = this.#options;
    await output.ready();
    const collecting = stats.collect();
    if (collecting !== null) await collecting;
    for (const piece of flushLines({ ...this.#options, counters: this.#counters, timers: this.#timers })) {
      if (piece !== '') await this.#write(piece);
      await nextTurn();
      if (this.#outputClosed) return;
    }
  }

  async #write(piece: string): Promise<void> {
    try {
      await this.#options.output.write(piece);
    } catch (failure) {
      this.#options.lostLines.add(piece.split('\n').length - 1);
      throw failure;
    }
  }

  #failed(failure: Error): void {
    if (this.#outputClosed) return;
    const { failedFlushes, outage } = this.#options;
    failedFlushes.add(1);
    outage.failed(this.name, failure.message);
    outage.callsFailed(1);
  }
}

/** Size of a piece, which is sent as a whole. Producing a larger piece would delay decisions too long. */
const PIECE_CHARACTERS = 16 * 1024;

/** Longer lines are omitted: no datagram can hold them, so they would make every flush fail. */
const MAX_LINE_CHARACTERS = 16 * 1024;

/** After this many unchanged counters in a row, other work may run. */
const UNCHANGED_PER_PAUSE = 256;

/** What a flush is made of: where statistics are read, and what was sent before. */
type FlushParts = Pick<PushSinkOptions, 'stats' | 'format' | 'lostLines'> & {
  readonly counters: CounterDeltas;
  readonly timers: TimerDeltas;
};

/**
 * Yields all gauges, and the changes since the previous flush, in pieces of whole lines. Pieces are produced on demand.
 * After an empty piece, the reader may let other work run.
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

/** Yields single lines. An empty line is a pause. */
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
    else if (counter === PAUSE || ++unchanged % UNCHANGED_PER_PAUSE === 0) yield '';
  }
  const end = format.end();
  if (end !== '') yield end;
}
