import { Fault } from '../base/fault.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { WireFault } from '../messages/wire.ts';
import type { Counter } from '../stats/registry.ts';
import { DecisionBatch } from './batch.ts';
import type { Decider, DecisionReply, ResponseFormat } from './decider.ts';
import type { Engine } from './engine.ts';
import type { RuleGeneration } from './generation.ts';

/** Requests in one batch at most: a batch is also the longest time that one piece of work holds the thread. */
export const MAX_BATCH_REQUESTS = 512;

/** Bytes of requests in one batch at most, unless a single request is larger. */
const MAX_BATCH_BYTES = 1_048_576;

/** Batches that may wait for the store at once. */
const MAX_BATCHES_IN_FLIGHT = 4;

/** Bytes of requests that may wait in all. */
const MAX_QUEUED_BYTES = 64 * 1_048_576;

export interface BatcherParts {
  readonly engine: Engine;
  readonly fingerprintKey: FingerprintKey;
  /** Requests that may wait before further ones are refused. */
  readonly maxQueued: number;
  /** Calls that failed for another reason than the store. */
  readonly serviceError: Counter;
}

/**
 * Gathers requests into batches, without a timer: what arrives while batches are in flight forms the next one, and a
 * request alone leaves as soon as the code that brought it has run.
 */
export class Batcher implements Decider {
  readonly #parts: BatcherParts;
  #generation: RuleGeneration | null = null;
  #filling: DecisionBatch;
  /** Full batches that wait for their turn. */
  readonly #ready: DecisionBatch[] = [];
  readonly #idle: DecisionBatch[] = [];
  #inFlight = 0;
  #flushPending = false;
  #queued = 0;
  #queuedBytes = 0;
  readonly #drained: (() => void)[] = [];

  constructor(parts: BatcherParts) {
    this.#parts = parts;
    this.#filling = new DecisionBatch(parts.fingerprintKey);
  }

  /** Rules of this generation decide every batch from now on. */
  use(generation: RuleGeneration): void {
    this.#generation = generation;
  }

  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    if (this.#queued >= this.#parts.maxQueued || this.#queuedBytes > MAX_QUEUED_BYTES) {
      this.#parts.serviceError.add(1);
      reply.refused(new Fault('overloaded', `${this.#queued} requests wait already; try again later`));
      return;
    }
    const filling = this.#filling;
    try {
      filling.add(request, format, reply);
    } catch (fault) {
      if (!(fault instanceof WireFault)) throw fault;
      // As with the reference implementation, what is no message is no call either: it is not counted.
      reply.refused(new Fault('unparseable', `not a RateLimitRequest: ${fault.message}`));
      return;
    }
    this.#queued++;
    this.#queuedBytes += request.length;
    if (filling.size >= MAX_BATCH_REQUESTS || filling.requests.byteCount >= MAX_BATCH_BYTES) this.#seal();
    if (!this.#flushPending) {
      this.#flushPending = true;
      queueMicrotask(this.#flush);
    }
  }

  /** Requests that wait or are being decided. */
  get pending(): number {
    return this.#queued;
  }

  /** Resolves once nothing waits and nothing is in flight. */
  drained(): Promise<void> {
    if (this.#queued === 0) return Promise.resolve();
    return new Promise(resolve => this.#drained.push(resolve));
  }

  #seal(): void {
    this.#ready.push(this.#filling);
    this.#filling = this.#idle.pop() ?? new DecisionBatch(this.#parts.fingerprintKey);
  }

  readonly #flush = (): void => {
    this.#flushPending = false;
    const generation = this.#generation;
    while (this.#inFlight < MAX_BATCHES_IN_FLIGHT) {
      if (this.#ready.length === 0) {
        if (this.#filling.size === 0) return;
        this.#seal();
      }
      const batch = this.#ready.shift()!;
      this.#inFlight++;
      const running = this.#parts.engine.run(batch, generation);
      if (running === undefined) this.#done(batch);
      else running.then(() => this.#next(batch));
    }
  };

  #next(batch: DecisionBatch): void {
    this.#done(batch);
    this.#flush();
  }

  #done(batch: DecisionBatch): void {
    this.#inFlight--;
    this.#queued -= batch.size;
    this.#queuedBytes -= batch.requests.byteCount;
    batch.reset();
    // Batches beyond those that can be in flight come from a burst; their memory is given back.
    if (this.#idle.length < MAX_BATCHES_IN_FLIGHT) this.#idle.push(batch);
    if (this.#queued === 0) for (const resolve of this.#drained.splice(0)) resolve();
  }
}
