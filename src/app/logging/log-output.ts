import { writeSync } from 'node:fs';
import { type Clock, systemClock, type Timer } from '../../base/clock.ts';
import { systemCode } from '../../base/fault.ts';

/** Maximum number of bytes that wait for a slow reader. Later lines are dropped. */
export const MAX_WAITING_BYTES = 1024 * 1024;

/** Delay before another attempt to write to a descriptor that did not accept all bytes. */
const RETRY_MS = 50;

/** Delay between two attempts of {@link LogOutput.flush}. */
const FLUSH_STEP_MS = 10;

interface LogOutputOptions {
  /** The descriptor to write to. It should be non-blocking; otherwise `write` blocks while nobody reads. */
  readonly descriptor: number;
  /** Called with the number of dropped lines when there is room again. */
  readonly dropped: (lines: number) => void;
  readonly clock?: Clock;
}

/**
 * Writes lines to a descriptor immediately, so that no line is lost when the process ends, but never waits for the
 * reader: bytes that the descriptor does not accept are kept, up to a limit, and written later. A stalled reader of a
 * pipe must not stall decisions.
 */
export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #clock: Clock;
  /** Chunks that are not completely written. The first `#written` bytes of the first chunk are. */
  readonly #waiting: Uint8Array[] = [];
  #written = 0;
  #waitingBytes = 0;
  #dropped = 0;
  #retry: Timer | null = null;

  constructor(options: LogOutputOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Writes a line, which includes its line feed. Returns false if the line is dropped. */
  write(line: string): boolean {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped++;
      return false;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#retry === null) this.#drain();
    return true;
  }

  /** Blocks until all lines are written, for at most `withinMs`. Call it when the process ends. */
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

  /**
   * Returns `full` if the reader is slow, and `failed` if writing fails. Failures may be temporary too, such as a full
   * disk.
   */
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

/** The part of `process.stderr` that {@link HookedStream} uses. */
interface WritableText {
  write(text: string, encoding: 'utf8', done: () => void): unknown;
}

/** A line that was passed to the hook and is not confirmed yet. */
interface Unconfirmed {
  readonly line: string;
  readonly bytes: number;
}

/**
 * Writes lines through a stream whose `write` was replaced by other code in this process. PM2 does this to collect the
 * lines of each application in files. Lines that bypass the hook would end up in the log of PM2 itself.
 *
 * Hooks write asynchronously, so a line counts as written when the hook confirms it. Until then the line is kept, so
 * that it can be written elsewhere if the process ends.
 */
export class HookedStream {
  readonly #stream: WritableText;
  readonly #dropped: (lines: number) => void;
  readonly #unconfirmed = new Set<Unconfirmed>();
  #bytes = 0;
  #confirms = false;
  #droppedLines = 0;
  #emptied: (() => void) | null = null;

  /** @param dropped called with the number of dropped lines when there is room again */
  constructor(stream: WritableText, dropped: (lines: number) => void) {
    this.#stream = stream;
    this.#dropped = dropped;
  }

  /** True if `write` of the stream was replaced. */
  get isHooked(): boolean {
    return Object.hasOwn(this.#stream, 'write');
  }

  /** Passes a line to the hook. Returns false if the line is dropped. */
  write(line: string): boolean {
    const entry = { line, bytes: Buffer.byteLength(line) };
    if (this.#bytes + entry.bytes > MAX_WAITING_BYTES) {
      if (this.#confirms) {
        this.#droppedLines++;
        return false;
      }
      // A hook that never confirms a line has most likely written all of them.
      this.#unconfirmed.clear();
      this.#bytes = 0;
    }
    this.#unconfirmed.add(entry);
    this.#bytes += entry.bytes;
    this.#stream.write(line, 'utf8', () => this.#confirmed(entry));
    return true;
  }

  /** Resolves when the hook has confirmed every line, or after `withinMs`. */
  async written(withinMs: number): Promise<void> {
    if (this.#unconfirmed.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#emptied = resolve;
    await promise;
    clearTimeout(timer);
  }

  /** Returns and forgets the unconfirmed lines. Writing a line twice is better than losing it. */
  takeUnconfirmed(): string[] {
    const lines = [...this.#unconfirmed].map(({ line }) => line);
    this.#unconfirmed.clear();
    this.#bytes = 0;
    return lines;
  }

  /** Handles a confirmation. Hooks may confirm a line more than once. */
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
