import { Fault } from '../base/fault.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import type { Counter } from '../stats/registry.ts';
import { DecisionBatch } from './batch.ts';
import type { BatchWindow } from './batch-window.ts';
import type { Decider, DecisionReply, ResponseFormat } from './decider.ts';
import type { Engine } from './engine.ts';
import type { RuleGeneration } from './generation.ts';
import type { NamedStatistics } from './named-rows.ts';

/** Requests in one batch at most: a batch is also the longest time that one piece of work holds the thread. */
export const MAX_BATCH_REQUESTS = 512;

/** Bytes of requests in one batch at most, unless a single request is larger. */
const MAX_BATCH_BYTES = 1_048_576;

/** Batches of this thread that may wait for the store at once. */
const MAX_BATCHES_IN_FLIGHT = 4;

/** Bytes of requests that may wait in all. */
const MAX_QUEUED_BYTES = 64 * 1_048_576;

/** Other threads that decide batches. */
export interface BatchPool {
  /** Whether a batch of so many requests is to be decided there, now. */
  takes(requests: number): boolean;
  /** Decides a batch as {@link Engine.run} does. The requests of the batch are gone afterwards. */
  run(batch: DecisionBatch, generation: RuleGeneration): Promise<void>;
  /** A batch was decided by this thread. */
  decidedHere(requests: number, spentMs: number): void;
}

export interface BatcherParts {
  readonly engine: Engine;
  /** Null when this thread decides everything. */
  readonly pool: BatchPool | null;
  /** Where hits are counted whose names come from requests. */
  readonly named: NamedStatistics;
  readonly fingerprintKey: FingerprintKey;
  /** Requests that may wait before further ones are refused. */
  readonly maxQueued: number;
  /** Holds batches back, so that they grow; null when they leave at once. */
  readonly window: Pick<BatchWindow, 'open' | 'shut'> | null;
  /** Calls that failed for another reason than the store. */
  readonly serviceError: Counter;
}

/**
 * Gathers requests into batches, without a timer: what arrives while batches are in flight forms the next one, and a
 * request alone leaves as soon as the code that brought it has run. Only where the operator asks for it are batches
 * held back for a while.
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
    this.#filling = this.#emptyBatch();
  }

  /** Rules of this generation decide every batch from now on. */
  use(generation: RuleGeneration): void {
    this.#generation = generation;
  }

  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const { maxQueued, serviceError, window } = this.#parts;
    if (this.#queued >= maxQueued || this.#queuedBytes > MAX_QUEUED_BYTES) {
      serviceError.add(1);
      reply.refused(new Fault('overloaded', `${this.#queued} requests wait already; try again later`));
      return;
    }
    const filling = this.#filling;
    const bytesBefore = filling.records.length;
    filling.add(request, format, reply);
    const bytes = filling.records.length;
    this.#queued++;
    this.#queuedBytes += bytes - bytesBefore;
    if (filling.size >= MAX_BATCH_REQUESTS || bytes >= MAX_BATCH_BYTES) this.#seal();
    else if (window !== null) {
      if (filling.size === 1) window.open(this.#windowEnded);
      return;
    }
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

  #emptyBatch(): DecisionBatch {
    return new DecisionBatch(this.#parts.fingerprintKey, this.#parts.named);
  }

  #seal(): void {
    this.#parts.window?.shut();
    this.#ready.push(this.#filling);
    this.#filling = this.#idle.pop() ?? this.#emptyBatch();
  }

  readonly #windowEnded = (): void => {
    this.#seal();
    this.#flush();
  };

  readonly #flush = (): void => {
    this.#flushPending = false;
    for (;;) {
      const sealed = this.#ready.length > 0;
      // What is filling grows until there is a place for it, or until its window ends.
      if (!sealed && (this.#filling.size === 0 || this.#parts.window !== null)) return;
      const { size } = sealed ? this.#ready[0] : this.#filling;
      const generation = this.#generation;
      const inPool = generation !== null && this.#parts.pool?.takes(size) === true;
      if (!inPool && this.#inFlight >= MAX_BATCHES_IN_FLIGHT) return;
      if (!sealed) this.#seal();
      const batch = this.#ready.shift()!;
      if (inPool) this.#runInPool(batch, generation);
      else this.#runHere(batch, generation);
    }
  };

  #runHere(batch: DecisionBatch, generation: RuleGeneration | null): void {
    const bytes = batch.records.length;
    this.#inFlight++;
    const running = this.#parts.engine.run(batch, generation);
    if (running === undefined) this.#doneHere(batch, bytes);
    else {
      running.then(() => {
        this.#doneHere(batch, bytes);
        this.#flush();
      });
    }
  }

  #doneHere(batch: DecisionBatch, bytes: number): void {
    this.#inFlight--;
    this.#parts.pool?.decidedHere(batch.size, batch.spentMs);
    this.#done(batch, batch.size, bytes);
  }

  #runInPool(batch: DecisionBatch, generation: RuleGeneration): void {
    const requests = batch.size;
    const bytes = batch.records.length;
    this.#parts.pool!.run(batch, generation).then(() => {
      this.#done(batch, requests, bytes);
      this.#flush();
    });
  }

  #done(batch: DecisionBatch, requests: number, bytes: number): void {
    this.#queued -= requests;
    this.#queuedBytes -= bytes;
    batch.reset();
    // Batches beyond those that can be in flight come from a burst; their memory is given back.
    if (this.#idle.length < MAX_BATCHES_IN_FLIGHT) this.#idle.push(batch);
    if (this.#queued === 0) for (const resolve of this.#drained.splice(0)) resolve();
  }
}
