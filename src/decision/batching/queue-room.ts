import type { Bound } from '../../base/threads/shared-bound.ts';

/** Maximum number of request bytes that wait or are being decided. */
export const MAX_QUEUED_BYTES = 64 * 1_048_576;

/** The fraction of the queue, in requests and in bytes, that one caller may fill. */
export const CALLER_SHARE = 1 / 4;

/**
 * The fraction of the queue that callers with waiting requests may fill. The rest is reserved for callers without any.
 * If several threads have a queue, it is the fraction of what each thread can use, so that each thread has a reserve.
 */
const CROWDED = 7 / 8;

/** What may wait or be decided, in this thread or in several threads together. */
export interface QueueBounds {
  /** Limited by `MAX_QUEUED_DECISIONS`. */
  readonly requests: Bound;
  /** Limited by {@link MAX_QUEUED_BYTES}. Each thread may use the bytes of one request more. */
  readonly bytes: Bound;
}

/** Counts the requests of a thread that wait or are being decided, and says whether there is room for more. */
export class QueueRoom {
  readonly #bounds: QueueBounds;
  #requests = 0;
  #bytes = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Number of requests that wait or are being decided. */
  get requests(): number {
    return this.#requests;
  }

  add(bytes: number): void {
    this.#requests++;
    this.#bytes += bytes;
  }

  remove(requests: number, bytes: number): void {
    this.#requests -= requests;
    this.#bytes -= bytes;
    this.#bounds.requests.freed(this.#requests / CROWDED);
    this.#bounds.bytes.freed(this.#bytes / CROWDED);
  }

  /** Whether a request of a caller without waiting requests has room. */
  hasRoom(): boolean {
    const { requests, bytes } = this.#bounds;
    return requests.hasRoom(this.#requests) && bytes.hasRoom(this.#bytes);
  }

  /** Whether a request of a caller with waiting requests has room. */
  hasRoomForMore(): boolean {
    const { requests, bytes } = this.#bounds;
    return requests.hasRoom(this.#requests / CROWDED) && bytes.hasRoom(this.#bytes / CROWDED);
  }

  /** Whether a caller with these waiting requests has used up its share. */
  isShareUsed(requests: number, bytes: number): boolean {
    const { requests: maxRequests, bytes: maxBytes } = this.#bounds;
    return requests >= maxRequests.max * CALLER_SHARE || bytes > maxBytes.max * CALLER_SHARE;
  }

  /** Why there is no room. */
  fullMessage(): string {
    const { requests, bytes } = this.#bounds;
    const full = bytes.hasRoom(this.#bytes / CROWDED)
      ? this.#fullOfRequests(requests)
      : this.#fullOfBytes(bytes);
    return `the queue is full: ${full}`;
  }

  #fullOfRequests({ isShared, max }: Bound): string {
    return isShared
      ? `${this.#requests} requests are waiting in this thread; MAX_QUEUED_DECISIONS is ${max} for all threads of the process`
      : `${this.#requests} requests are waiting; MAX_QUEUED_DECISIONS is ${max}`;
  }

  #fullOfBytes({ isShared, max }: Bound): string {
    return isShared
      ? `${this.#bytes} bytes are waiting in this thread; all threads of the process may hold ${max} bytes`
      : `${this.#bytes} of ${max} bytes are waiting`;
  }

  /** Why a caller with these waiting requests has no share left. */
  shareMessage(requests: number, bytes: number): string {
    const { requests: maxRequests, bytes: maxBytes } = this.#bounds;
    const queue = maxRequests.isShared ? 'the queue of all threads' : 'the queue';
    const share = `a quarter of ${queue}: ${maxRequests.max} requests (MAX_QUEUED_DECISIONS) and ${maxBytes.max} bytes`;
    return `${requests} requests with ${bytes} bytes of this connection are waiting; it may use ${share}`;
  }
}
