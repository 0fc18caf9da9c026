import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Outage } from '../../base/outage-log.ts';
import type { Counter, StatsReader } from '../registry.ts';
import { CounterDeltas, TimerDeltas } from './deltas.ts';
import { flushLines } from './flush-lines.ts';
import type { LineFormat } from './line-format.ts';
import type { LineOutput } from './line-output.ts';

/** Longest wait for the last flush: the end of a process must not wait for a receiver that has gone. */
export const LAST_FLUSH_MS = 2_000;

interface PushSinkOptions {
  readonly stats: StatsReader;
  readonly format: LineFormat;
  readonly output: LineOutput;
  readonly intervalMs: number;
  /** Counts flushes that did not get to their end. */
  readonly failedFlushes: Counter;
  /** Counts lines that were on their way when that happened, and those that are too long. */
  readonly lostLines: Counter;
  /** Of the receiver. */
  readonly outage: Outage;
  readonly clock: Clock;
}

/**
 * Sends statistics at an interval, and a last time when it is stopped.
 *
 * Lines are made piece by piece, and the next one when the last has left, so a slow receiver costs the memory of one
 * piece, and decisions run between two. A flush that takes longer than the interval puts off the next one. What is not
 * sent stays in the difference that the next flush tells; only lines on their way to a receiver that fails are lost.
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
    if (started) {
      const bound = Promise.withResolvers<void>();
      const timer = this.#options.clock.after(LAST_FLUSH_MS, bound.resolve);
      await Promise.race([this.#lastFlush(), bound.promise]);
      timer.cancel();
    }
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

  /** Never fails: that is counted and logged. */
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
    const { stats, format, output, lostLines } = this.#options;
    await output.ready();
    const parts = { stats, format, counters: this.#counters, timers: this.#timers, lostLines };
    for (const piece of flushLines(parts)) {
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
