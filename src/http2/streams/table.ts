import { ClosedStreams } from './closed-streams.ts';
import type { Http2Stream } from './stream.ts';

const LEAST_PLACES = 16;

/** The table of connections that have no stream yet, as idle ones may never have. Never written. */
const NO_PLACES: readonly null[] = [null];

/**
 * The streams of a connection that live, by id: an open addressing table that is at most half full.
 *
 * Not a `Map`, because streams come and go by the hundred thousand a second. A `Map` moves to a new table every so many
 * deletions, and the table before keeps what it held and leads to the next one; once one of them is old, the garbage
 * collector's quick passes take all later ones, and the streams and calls in them, for alive. Those passes then copied a
 * quarter of what was allocated, and took 4 ms instead of less than one.
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

  /** Adds a stream whose id is not in. */
  add(stream: Http2Stream): void {
    if (2 * (this.size + 1) > this.#places.length) this.#moveTo(this.#places.length * 2);
    this.#put(stream);
    this.size++;
  }

  /** Takes out a stream, if it is in. */
  delete(id: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let at = placeOf(id) & mask;
    for (; places[at]?.id !== id; at = (at + 1) & mask) if (places[at] === null) return;
    this.size--;
    // Those behind move up, so that no search ends at the gap (Knuth, "The Art of Computer Programming", 6.4, R).
    for (let next = (at + 1) & mask; places[next] !== null; next = (next + 1) & mask) {
      const home = placeOf(places[next]!.id) & mask;
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      places[at] = places[next];
      at = next;
    }
    places[at] = null;
    // Memory that a burst took is given back.
    if (places.length > LEAST_PLACES && this.size * 16 < places.length) this.#moveTo(places.length / 4);
  }

  /** All of them, in the order of their ids, which is that in which they were opened. */
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
    // The old table may have grown old: nothing is to be taken for alive by it.
    if (streams !== NO_PLACES) streams.length = 0;
  }
}

/** Ids of requests are odd and follow on one another: neighbours in time are neighbours here. */
function placeOf(id: number): number {
  return id >>> 1;
}

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
