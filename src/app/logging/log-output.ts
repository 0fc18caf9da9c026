import { writeSync } from 'node:fs';
import { type Clock, systemClock, type Timer } from '../../base/clock.ts';
import { systemCode } from '../../base/fault.ts';

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

/** What this needs of `process.stderr`. */
interface WritableText {
  write(text: string, encoding: 'utf8', done: () => void): unknown;
}

/** A line that its hook has taken and not confirmed. */
interface Unconfirmed {
  readonly line: string;
  readonly bytes: number;
}

/**
 * Writes lines through a stream whose `write` was replaced by another program in this process. PM2 does this to collect
 * the lines of each application in files: what goes to the descriptor instead ends up in the log of PM2 itself.
 *
 * Such a hook writes later, so a line counts as written only when the hook confirms it. Until then it is kept, so that
 * the end of the process can still write it elsewhere.
 */
export class HookedStream {
  readonly #stream: WritableText;
  readonly #dropped: (lines: number) => void;
  readonly #unconfirmed = new Set<Unconfirmed>();
  #bytes = 0;
  #confirms = false;
  #droppedLines = 0;
  #emptied: (() => void) | null = null;

  /** @param dropped called with the number of lines that were dropped, when there is room again */
  constructor(stream: WritableText, dropped: (lines: number) => void) {
    this.#stream = stream;
    this.#dropped = dropped;
  }

  /** True while `write` is not the one that the stream was made with. */
  get isHooked(): boolean {
    return Object.hasOwn(this.#stream, 'write');
  }

  /** Hands a line to the hook. */
  write(line: string): void {
    const entry = { line, bytes: Buffer.byteLength(line) };
    if (this.#bytes + entry.bytes > MAX_WAITING_BYTES) {
      if (this.#confirms) {
        this.#droppedLines++;
        return;
      }
      // A hook that never confirms a line has most likely written all of them.
      this.#unconfirmed.clear();
      this.#bytes = 0;
    }
    this.#unconfirmed.add(entry);
    this.#bytes += entry.bytes;
    this.#stream.write(line, 'utf8', () => this.#confirmed(entry));
  }

  /** Resolves when the hook has confirmed every line, and after `withinMs` in any case. */
  async written(withinMs: number): Promise<void> {
    if (this.#unconfirmed.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#emptied = resolve;
    await promise;
    clearTimeout(timer);
  }

  /** The lines that the hook has not confirmed: to write them twice is better than to lose them. They are no longer kept. */
  takeUnconfirmed(): string[] {
    const lines = [...this.#unconfirmed].map(({ line }) => line);
    this.#unconfirmed.clear();
    this.#bytes = 0;
    return lines;
  }

  /** A hook may confirm a line several times. */
  #confirmed(entry: Unconfirmed): void {
    this.#confirms = true;
    if (!this.#unconfirmed.delete(entry)) return;
    this.#bytes -= entry.bytes;
    const dropped = this.#droppedLines;
    this.#droppedLines = 0;
    if (dropped > 0) this.#dropped(dropped);
    if (this.#unconfirmed.size === 0) this.#emptied?.();
  }
}
