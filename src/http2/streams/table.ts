import { ClosedStreams } from './closed-streams.ts';
import { LiveStreams } from './live-streams.ts';
import type { Http2Stream } from './stream.ts';

/** The streams of a connection: those that live, and what is known of those that do not. */
export class StreamTable {
  readonly #live = new LiveStreams();
  readonly closed = new ClosedStreams();
  /** The highest id that the peer has used. */
  lastId = 0;

  get size(): number {
    return this.#live.size;
  }

  get(id: number): Http2Stream | undefined {
    return this.#live.get(id);
  }

  /** Whether the peer has not opened this stream yet; one of an even id would be ours, and we open none. */
  isIdle(id: number): boolean {
    return id > this.lastId || (id & 1) === 0;
  }

  /** Notes the id of a new stream; it is above all others, and closes those between (RFC 9113, 5.1.1). */
  use(id: number): void {
    const next = (this.lastId + 1) | 1;
    if (id > next) this.closed.skip(next, id - 2);
    this.lastId = id;
  }

  add(stream: Http2Stream): void {
    this.#live.add(stream);
  }

  /** Takes a stream that is done out of the table. */
  remove(stream: Http2Stream): void {
    stream.state = 'closed';
    this.#live.delete(stream.id);
  }

  /** Takes out a stream that we reset. Unless the peer had ended it, frames of it may still be on their way. */
  removeReset(stream: Http2Stream): void {
    if (stream.state === 'open') this.closed.awaitEnd(stream.id);
    this.remove(stream);
  }

  values(): Http2Stream[] {
    return this.#live.values();
  }
}
