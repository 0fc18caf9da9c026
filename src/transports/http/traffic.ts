import type { Clock, Timer } from '../../base/clock.ts';
import type { Bound } from '../../base/threads/shared-bound.ts';

/**
 * While a listener drains, every answer asks its caller to close the connection. Callers that send one request after
 * the other receive such an answer within this time. Connections that are silent for this long are idle and get closed.
 */
const SILENCE_MS = 100;

/** The connections of one listener, its requests in flight, and whether it is draining. */
export class Traffic {
  readonly #maxConnections: Bound;
  #connections = 0;
  #inFlight = 0;
  #arrivals = 0;
  #draining = false;
  #whenEmpty: (() => void) | null = null;

  constructor(maxConnections: Bound) {
    this.#maxConnections = maxConnections;
  }

  /** True if there are more connections than allowed. The connection that was opened last is then refused. */
  get crowded(): boolean {
    return !this.#maxConnections.hasRoom(this.#connections - 1);
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections;
  }

  /** Number of requests that have arrived, have no complete answer yet, and whose callers are still connected. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** True once answers ask the caller to close the connection. */
  get draining(): boolean {
    return this.#draining;
  }

  drain(): void {
    this.#draining = true;
  }

  /** Called when a connection has been opened (1) or closed (-1). */
  connectionsChanged(change: number): void {
    this.#connections += change;
    if (change < 0) this.#maxConnections.freed(this.#connections);
    if (this.#connections === 0) this.#whenEmpty?.();
  }

  arrived(): void {
    this.#inFlight++;
    this.#arrivals++;
  }

  finished(): void {
    this.#inFlight--;
  }

  /**
   * Resolves when every connection has closed, when the remaining ones have been silent for {@link SILENCE_MS}, or
   * after `boundMs` (0: immediately). Closing a connection earlier could reset a request that is already on its way.
   */
  drained(clock: Clock, boundMs: number): Promise<void> {
    if (this.#connections === 0 || boundMs === 0) return Promise.resolve();
    return new Promise(resolve => {
      const done = (): void => {
        bound.cancel();
        silence.cancel();
        this.#whenEmpty = null;
        resolve();
      };
      const listen = (): Timer => {
        const before = this.#arrivals;
        // Judges after sockets have been read: if this process got no CPU time, old requests may be waiting there.
        return clock.after(SILENCE_MS, () => setImmediate(judge, before));
      };
      const judge = (before: number): void => {
        if (this.#whenEmpty !== done) return;
        if (this.#inFlight === 0 && this.#arrivals === before) done();
        else silence = listen();
      };
      let silence = listen();
      const bound = clock.after(boundMs, done);
      this.#whenEmpty = done;
    });
  }
}

/** A request whose body is incomplete, or whose answer the caller has not read yet. */
export interface Holder {
  /** Discards the request or its answer. Its memory is no longer counted when this is called. */
  discard(): void;
}

/**
 * Memory of all requests of a port that wait for their callers: incomplete bodies and unread answers. When the total
 * exceeds the limit, the oldest requests are discarded. A body that arrives at normal network speed is complete long
 * before it becomes one of the oldest.
 */
export class HeldMemory {
  readonly #max: number;
  /** Ordered by age, the oldest first. */
  readonly #holders = new Map<Holder, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Bytes that are currently held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts `bytes` more for `holder`. If the total exceeds the limit, the oldest requests are discarded until it fits.
   * `holder` itself may be among them, unless it is the only one.
   */
  hold(holder: Holder, bytes: number): void {
    this.#holders.set(holder, (this.#holders.get(holder) ?? 0) + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#max && this.#holders.size > 1) {
      const [oldest] = this.#holders.keys();
      this.release(oldest);
      oldest.discard();
    }
  }

  /** Stops counting the memory of `holder`. */
  release(holder: Holder): void {
    this.#bytes -= this.#holders.get(holder) ?? 0;
    this.#holders.delete(holder);
  }
}

/** Limits on what the connections of one HTTP port may use. */
export interface HttpLimits {
  /** Maximum number of connections. Further connections are answered with 503 and closed. */
  readonly maxConnections: number;
  /** Maximum number of bytes of incomplete bodies and unread answers; see `HeldMemory`. */
  readonly maxHeldBytes: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = { maxConnections: 10_000, maxHeldBytes: 64 * 1_048_576 };
