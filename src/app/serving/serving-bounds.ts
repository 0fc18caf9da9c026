import { Bound, type BoundSeat, SharedBound } from '../../base/threads/shared-bound.ts';
import { MAX_QUEUED_BYTES, type QueueBounds } from '../../decision/batching/queue-room.ts';
import type { Settings } from '../../settings/table.ts';
import { DEFAULT_SERVER_LIMITS } from '../../transports/grpc/own-server.ts';

/** The part of one thread in the bounds of the process. It can be sent to the thread. */
export type BoundSeats = Readonly<
  Record<'requests' | 'bytes' | 'grpcConnections' | 'httpConnections', BoundSeat>
>;

/**
 * The bounds that all threads with connections keep together: waiting requests, their bytes, and connections. Each thread
 * has a guaranteed part, so a flood on one thread leaves room on the others.
 */
export class ServingBounds {
  readonly #requests: SharedBound;
  readonly #bytes: SharedBound;
  readonly #grpcConnections: SharedBound;
  readonly #httpConnections: SharedBound;
  readonly #seats = new Map<number, BoundSeats>();

  /** @param threads number of serving threads, without the primary thread */
  constructor({ maxQueuedDecisions, httpMaxConnections }: Settings, threads: number) {
    // The primary thread decides as well: for the HTTP port and for the limits of tasks.
    this.#requests = new SharedBound(maxQueuedDecisions, threads + 1);
    this.#bytes = new SharedBound(MAX_QUEUED_BYTES, threads + 1);
    this.#grpcConnections = new SharedBound(DEFAULT_SERVER_LIMITS.maxConnections, threads);
    this.#httpConnections = new SharedBound(httpMaxConnections, threads);
  }

  /** The bounds of the queue of the primary thread. Call once. */
  ofPrimary(): QueueBounds {
    return { requests: Bound.at(this.#requests.join()), bytes: Bound.at(this.#bytes.join()) };
  }

  /** The part of a thread that starts. */
  join(threadId: number): BoundSeats {
    const seats = {
      requests: this.#requests.join(),
      bytes: this.#bytes.join(),
      grpcConnections: this.#grpcConnections.join(),
      httpConnections: this.#httpConnections.join(),
    };
    this.#seats.set(threadId, seats);
    return seats;
  }

  /** Frees the part of a thread. Call when the thread executes nothing anymore. */
  left(threadId: number): void {
    const seats = this.#seats.get(threadId);
    if (seats === undefined) return;
    this.#seats.delete(threadId);
    this.#requests.left(seats.requests);
    this.#bytes.left(seats.bytes);
    this.#grpcConnections.left(seats.grpcConnections);
    this.#httpConnections.left(seats.httpConnections);
  }
}
