import { MAX_WAITING_BYTES } from './log-output.ts';

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
