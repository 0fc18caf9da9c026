import { writeSync } from 'node:fs';
import { type Clock, systemClock, type Timer } from '../../base/clock.ts';
import { systemCode } from '../../base/system-code.ts';

/** Lines that wait for a reader who does not read are kept up to this many bytes; later ones are dropped. */
export const MAX_WAITING_BYTES = 1024 * 1024;

/** How often a descriptor that takes nothing is tried again. */
const RETRY_MS = 50;

/** How long one try of {@link LogOutput.flush} waits for the next. */
const FLUSH_STEP_MS = 10;

interface LogOutputOptions {
  /** Where lines go. Must not block when nobody reads; if it does, so does this. */
  readonly descriptor: number;
  /** Hears how many lines were dropped, when there is room again. */
  readonly dropped: (lines: number) => void;
  readonly clock?: Clock;
}

/**
 * Writes lines to a descriptor at once, so that no end of the process loses one, but never waits for a reader: what is
 * not taken is kept, within a bound, and tried again. A pipe whose reader has stalled must not stall decisions.
 */
export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #clock: Clock;
  /** What was not taken yet; of the first, from `#written` on. */
  readonly #waiting: Uint8Array[] = [];
  #written = 0;
  #waitingBytes = 0;
  #dropped = 0;
  #retry: Timer | null = null;

  constructor(options: LogOutputOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Takes a line with its line feed. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#retry === null) this.#drain();
  }

  /** Waits for the reader, up to `withinMs`, and gives up then: an end of the process must not wait for ever. */
  flush(withinMs: number): void {
    this.#retry?.cancel();
    this.#retry = null;
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    let outcome = this.#writeAll();
    for (let waitedMs = 0; waitedMs < withinMs && outcome === 'full'; waitedMs += FLUSH_STEP_MS) {
      Atomics.wait(sleeper, 0, 0, FLUSH_STEP_MS);
      outcome = this.#writeAll();
    }
    if (outcome === 'done') this.#tellDropped();
  }

  #drain(): void {
    this.#retry = null;
    if (this.#writeAll() === 'done') this.#tellDropped();
    else this.#retry = this.#clock.after(RETRY_MS, () => this.#drain());
  }

  #tellDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#options.dropped(dropped);
  }

  /** `full`: nobody reads just now. `failed`: nothing can be written, which may pass: a disk is full, a reader gone. */
  #writeAll(): 'done' | 'full' | 'failed' {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        const count = writeSync(this.#options.descriptor, first, this.#written);
        this.#written += count;
        this.#waitingBytes -= count;
        if (this.#written < first.length) continue;
        this.#waiting.shift();
        this.#written = 0;
      }
      return 'done';
    } catch (failure) {
      return systemCode(failure) === 'EAGAIN' ? 'full' : 'failed';
    }
  }
}
