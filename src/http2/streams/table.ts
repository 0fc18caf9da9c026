import { ClosedStreams } from './closed-streams.ts';
import type { Http2Stream } from './stream.ts';

const LEAST_PLACES = 16;

/** Shared by all connections that have no stream yet. Never written. */
const NO_PLACES: readonly null[] = [null];

/**
 * The open and half-closed streams of a connection by id: an open-addressing hash table that is at most half full.
 *
 * This is not a `Map`, because hundreds of thousands of streams open and close per second. A `Map` regularly moves to a
 * new table, and the old table keeps its entries and points to the new one. Once one table is in the old generation,
 * the minor collections of V8 treat all later tables as alive, with their streams and calls. With a `Map`, minor
 * collections copied a quarter of all allocated memory and took 4 ms instead of less than 1 ms.
 */
export class LiveStreams {
  #places: (Http2Stream | null)[] = NO_PLACES as null[];
  size = 0;

  get(id: number): Http2Stream | undefined {
    const places = this.#places;
    const mask = places.length - 1;
    for (let at = placeOf(id) & mask; ; at = (at + 1) & mask) {
      const stream = places[at];
      if (stream === null) return undefined;
      if (stream.id === id) return stream;
    }
  }

  /** Adds a stream whose id is not in the table. */
  add(stream: Http2Stream): void {
    if (2 * (this.size + 1) > this.#places.length) this.#moveTo(this.#places.length * 2);
    this.#put(stream);
    this.size++;
  }

  /** Removes a stream if it is in the table. */
  delete(id: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let at = placeOf(id) & mask;
    for (; places[at]?.id !== id; at = (at + 1) & mask) if (places[at] === null) return;
    this.size--;
    // Later entries move up, so that no search ends at the gap (Knuth, "The Art of Computer Programming", 6.4, R).
    for (let next = (at + 1) & mask; places[next] !== null; next = (next + 1) & mask) {
      const home = placeOf(places[next]!.id) & mask;
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      places[at] = places[next];
      at = next;
    }
    places[at] = null;
    // Free the memory of a past burst.
    if (places.length > LEAST_PLACES && this.size * 16 < places.length) this.#moveTo(places.length / 4);
  }

  /** All streams in the order in which they were opened, which is the order of their ids. */
  values(): Http2Stream[] {
    return this.#places.filter(stream => stream !== null).sort((a, b) => a.id - b.id);
  }

  #put(stream: Http2Stream): void {
    const places = this.#places;
    const mask = places.length - 1;
    let at = placeOf(stream.id) & mask;
    while (places[at] !== null) at = (at + 1) & mask;
    places[at] = stream;
  }

  #moveTo(length: number): void {
    const streams = this.#places;
    this.#places = new Array(Math.max(length, LEAST_PLACES)).fill(null);
    for (const stream of streams) if (stream !== null) this.#put(stream);
    // The old table may be in the old generation, where it would keep the streams alive.
    if (streams !== NO_PLACES) streams.length = 0;
  }
}

/** Client stream ids are odd and consecutive, so dropping the lowest bit fills the table without gaps. */
function placeOf(id: number): number {
  return id >>> 1;
}

/** The streams of a connection: live streams, and what has to be remembered of closed streams. */
export class StreamTable extends LiveStreams {
  readonly closed = new ClosedStreams();
  /** The highest id that the peer has used. */
  lastId = 0;

  /** Whether the stream was never opened. Even ids belong to the server, which opens no streams. */
  isIdle(id: number): boolean {
    return id > this.lastId || (id & 1) === 0;
  }

  /** Records the id of a new stream, the highest so far. Skipped lower ids are closed (RFC 9113, 5.1.1). */
  use(id: number): void {
    const next = (this.lastId + 1) | 1;
    if (id > next) this.closed.skip(next, id - 2);
    this.lastId = id;
  }

  /** Removes a completed stream. */
  remove(stream: Http2Stream): void {
    stream.state = 'closed';
    this.delete(stream.id);
  }

  /** Removes a stream that the server reset. If the peer had not ended it, its frames may still be in flight. */
  removeReset(stream: Http2Stream): void {
    if (stream.state === 'open') this.closed.remember(stream.id, false);
    this.remove(stream);
  }
}
