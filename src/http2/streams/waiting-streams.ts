import type { Http2Stream } from './stream.ts';

/**
 * The streams of a connection whose data waits for a window, in the order in which it is their turn. Those that wait for
 * their own are kept apart: else each octet that the connection's window grows by would cost a look at all of them.
 */
export class WaitingStreams {
  /** Their own window is open. */
  readonly #ready = new Set<Http2Stream>();
  /** It is not. */
  readonly #shut = new Set<Http2Stream>();

  /** Number of waiting streams. */
  get size(): number {
    return this.#ready.size + this.#shut.size;
  }

  /** Those that can use the connection's window. One that is served and added again comes again, behind the others. */
  get ready(): Iterable<Http2Stream> {
    return this.#ready;
  }

  /** Puts a stream behind the others. */
  add(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0) this.#ready.add(stream);
    else this.#shut.add(stream);
  }

  delete(stream: Http2Stream): void {
    if (!this.#ready.delete(stream)) this.#shut.delete(stream);
  }

  /** The stream's own window was widened. */
  widened(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0 && this.#shut.delete(stream)) this.#ready.add(stream);
  }

  /** The windows of all streams were changed, and perhaps narrowed. */
  resized(): void {
    const streams = [...this.#ready, ...this.#shut];
    this.#ready.clear();
    this.#shut.clear();
    for (const stream of streams) this.add(stream);
  }

  /** Streams of which nothing was sent since `untilMs` or longer. */
  stalled(untilMs: number): Http2Stream[] {
    return [...this.#ready, ...this.#shut].filter(stream => stream.waitingSinceMs < untilMs);
  }
}
