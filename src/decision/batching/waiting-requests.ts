import { FairOrder, type Served } from '../../base/turns/fair-order.ts';
import type { DecisionReply, ResponseFormat } from '../decider.ts';

/** A request that waits for a batch. */
interface WaitingRequest {
  /** From `ownRecord`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly format: ResponseFormat;
  readonly reply: DecisionReply;
}

/** Minimum cost of a request, in bytes, when callers are compared. */
const LEAST_BYTES = 128;

/** How many bytes a caller that asks for little may be behind the others. */
const CREDIT_BYTES = 16_384;

/** The requests of one caller, oldest first. */
class CallerQueue implements Served {
  served = 0;
  due = 0;
  order = 0;
  bytes = 0;
  /** Requests before `#first` were already taken. */
  #requests: WaitingRequest[] = [];
  #first = 0;

  get size(): number {
    return this.#requests.length - this.#first;
  }

  get first(): WaitingRequest {
    return this.#requests[this.#first];
  }

  push(request: WaitingRequest): void {
    this.#requests.push(request);
    this.bytes += request.bytes.length;
  }

  shift(): WaitingRequest {
    const request = this.first;
    this.bytes -= request.bytes.length;
    this.#first++;
    // Remaining requests are moved only when they are the smaller half, so the cost per request is constant.
    if (this.#first * 2 >= this.#requests.length) {
      this.#requests = this.#requests.slice(this.#first);
      this.#first = 0;
    }
    return request;
  }
}

function costOf({ bytes }: WaitingRequest): number {
  return Math.max(bytes.length, LEAST_BYTES);
}

/**
 * Requests that do not fit into the next batch. The caller that was served least is next, regardless of arrival order.
 */
export class WaitingRequests {
  readonly #order = new FairOrder<CallerQueue>(CREDIT_BYTES);
  /**
   * Includes callers without waiting requests: the amount that each caller was served is kept for the lifetime of the
   * caller.
   */
  readonly #queues = new WeakMap<object, CallerQueue>();
  #size = 0;

  /** Number of waiting requests. */
  get size(): number {
    return this.#size;
  }

  /** Whether a caller has requests waiting. */
  has(caller: object): boolean {
    return this.#size > 0 && this.countOf(caller) > 0;
  }

  countOf(caller: object): number {
    return this.#queues.get(caller)?.size ?? 0;
  }

  bytesOf(caller: object): number {
    return this.#queues.get(caller)?.bytes ?? 0;
  }

  add(caller: object, request: WaitingRequest): void {
    const queue = this.#queueOf(caller);
    queue.push(request);
    this.#size++;
    if (queue.size === 1) this.#order.add(queue, costOf(request));
  }

  /** Removes and returns the next request; undefined if no request is waiting. */
  take(): WaitingRequest | undefined {
    const queue = this.#order.next();
    if (queue === undefined) return undefined;
    const request = queue.shift();
    this.#size--;
    this.#order.charge(queue, costOf(request));
    if (queue.size > 0) this.#order.add(queue, costOf(queue.first));
    else if (this.#size === 0) this.#order.settle();
    return request;
  }

  #queueOf(caller: object): CallerQueue {
    const known = this.#queues.get(caller);
    if (known !== undefined) return known;
    const queue = new CallerQueue();
    this.#order.enter(queue);
    this.#queues.set(caller, queue);
    return queue;
  }
}
