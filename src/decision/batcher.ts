import { Fault } from '../base/fault.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import type { Counter } from '../stats/registry.ts';
import { DecisionBatch } from './batch.ts';
import type { BatchWindow } from './batch-window.ts';
import type { Decider, DecisionReply, ResponseFormat } from './decider.ts';
import type { Engine } from './engine.ts';
import type { RuleGeneration } from './generation.ts';
import type { NamedStatistics } from './named-rows.ts';
import { WaitingRequests } from './waiting-requests.ts';

/** Requests in one batch at most: a batch is also the longest time that one piece of work holds the thread. */
export const MAX_BATCH_REQUESTS = 512;

/** Bytes of requests in one batch at most. */
const MAX_BATCH_BYTES = 131_072;

/** Requests that are left out when a batch is made of those that wait: room for callers that have nothing waiting. */
const KEPT_PLACES = 64;

/** A request of so many bytes is decided by itself: those who came before must not wait for it. */
export const LARGE_REQUEST_BYTES = 32_768;

/** Batches of this thread that may wait for the store at once. */
const MAX_BATCHES_IN_FLIGHT = 4;

/** Large requests of this thread that may wait for the store at once: it is busy with each for milliseconds. */
const MAX_LARGE_IN_FLIGHT = 1;

/** Bytes of requests that may wait or be decided in all. */
export const MAX_QUEUED_BYTES = 64 * 1_048_576;

/** The part of the queue, in requests and in bytes, that one caller may have waiting. */
export const CALLER_SHARE = 1 / 4;

/** The part of the queue that those may fill who have requests waiting; the rest is for callers that have none. */
const CROWDED = 7 / 8;

/** Other threads that decide batches. */
export interface BatchPool {
  /** Whether a batch of so many requests is to be decided there, now. `isLarge`: it would hold this thread up. */
  takes(requests: number, isLarge: boolean): boolean;
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
  /**
   * Says when "at once" is: `queueMicrotask`, as soon as the code that brought the request has run; `setImmediate`, at the
   * end of the turn of the event loop, so that all that is read in the turn shares a batch.
   */
  readonly soon: (run: () => void) => void;
  /** Calls that failed for another reason than the store. */
  readonly serviceError: Counter;
}

/**
 * While the store has nothing to do, a batch of this size leaves without waiting for the end of the turn: the store
 * works on it while the rest of the turn is read. Smaller batches cost more in store calls than the overlap saves.
 */
const EARLY_REQUESTS = 64;

/**
 * Gathers requests into batches, without a timer: what arrives while batches are in flight forms the next one, and a
 * request alone leaves as soon as the code that brought it has run, or all that was ready to be read. Only where the
 * operator asks for it are batches held back for a while.
 *
 * What finds the next batch full waits by caller, and callers are served in turns ({@link WaitingRequests}): one that
 * asks for little joins the next batch, however much the others have waiting.
 */
export class Batcher implements Decider {
  readonly #parts: BatcherParts;
  #generation: RuleGeneration | null = null;
  #filling: DecisionBatch;
  /** Whether what is filling need not wait for the end of its window: it has ended, or others wait behind. */
  #isDue = false;
  /** Requests that found the batch full. */
  readonly #waiting = new WaitingRequests();
  /** Requests that are decided by themselves. */
  readonly #large = new WaitingRequests();
  /** Whether the batch that left last was a large request. */
  #wasLarge = false;
  /** Stands for all callers that are not told apart. */
  readonly #anybody = {};
  readonly #idle: DecisionBatch[] = [];
  #inFlight = 0;
  #largeInFlight = 0;
  #inPool = 0;
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
    const isLarge = request.length >= LARGE_REQUEST_BYTES;
    if (
      !isLarge &&
      this.#hasRoom() &&
      (this.#waiting.size === 0 || !this.#waiting.has(this.#callerOf(reply)))
    ) {
      if (this.#queued >= this.#parts.maxQueued || this.#queuedBytes > MAX_QUEUED_BYTES) this.#refuse(reply);
      else this.#join(request, format, reply);
    } else this.#wait(isLarge ? this.#large : this.#waiting, request, format, reply);
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

  #callerOf(reply: DecisionReply): object {
    return reply.caller ?? this.#anybody;
  }

  #hasRoom(): boolean {
    return this.#filling.size < MAX_BATCH_REQUESTS && this.#filling.records.length < MAX_BATCH_BYTES;
  }

  /** Adds a request to the batch that is filling. */
  #join(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const { window } = this.#parts;
    const filling = this.#filling;
    filling.add(request, format, reply);
    this.#queued++;
    this.#queuedBytes += request.length;
    const isWorthACall = filling.size === EARLY_REQUESTS && this.#inFlight === 0;
    if (!this.#hasRoom() || (isWorthACall && window === null)) queueMicrotask(this.#flush);
    else if (window === null || this.#isDue) this.#scheduleFlush();
    else if (filling.size === 1) window.open(this.#windowEnded);
  }

  /** Has a request wait, if its caller has a part of the queue left. */
  #wait(queue: WaitingRequests, request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const caller = this.#callerOf(reply);
    const count = this.#waiting.countOf(caller) + this.#large.countOf(caller);
    const bytes = this.#waiting.bytesOf(caller) + this.#large.bytesOf(caller);
    const { maxQueued } = this.#parts;
    const isShared = caller !== this.#anybody && count > 0;
    const part = isShared ? CROWDED : 1;
    if (this.#queued >= maxQueued * part || this.#queuedBytes > MAX_QUEUED_BYTES * part) this.#refuse(reply);
    else if (isShared && (count >= maxQueued * CALLER_SHARE || bytes > MAX_QUEUED_BYTES * CALLER_SHARE))
      this.#refuseShare(reply, count, bytes);
    else {
      queue.add(caller, { bytes: Buffer.from(request), format, reply });
      this.#queued++;
      this.#queuedBytes += request.length;
      this.#scheduleFlush();
    }
  }

  #refuse(reply: DecisionReply): void {
    const { maxQueued, serviceError } = this.#parts;
    serviceError.add(1);
    const full =
      this.#queuedBytes > MAX_QUEUED_BYTES * CROWDED
        ? `requests of ${this.#queuedBytes} bytes wait already; the queue holds ${MAX_QUEUED_BYTES}`
        : `${this.#queued} requests wait already; MAX_QUEUED_DECISIONS is ${maxQueued}`;
    reply.refused(new Fault('overloaded', `${full}; try again later`));
  }

  #refuseShare(reply: DecisionReply, count: number, bytes: number): void {
    const { maxQueued, serviceError } = this.#parts;
    serviceError.add(1);
    const share = `a quarter of the queue: ${maxQueued} requests (MAX_QUEUED_DECISIONS) and ${MAX_QUEUED_BYTES} bytes`;
    const text = `${count} requests of ${bytes} bytes wait on this connection already, and it may have ${share}`;
    reply.refused(new Fault('overloaded', `${text}; try again later`));
  }

  #emptyBatch(): DecisionBatch {
    return new DecisionBatch(this.#parts.fingerprintKey, this.#parts.named);
  }

  readonly #windowEnded = (): void => {
    this.#isDue = true;
    this.#flush();
  };

  #scheduleFlush(): void {
    if (this.#flushPending) return;
    this.#flushPending = true;
    this.#parts.soon(this.#flush);
  }

  /** Lets one batch go. The next one goes when the answers of this one have been written. */
  readonly #flush = (): void => {
    this.#flushPending = false;
    const isLargeNext = !this.#wasLarge && this.#large.size > 0;
    const isGone = isLargeNext ? this.#letLargeGo() || this.#letGo() : this.#letGo() || this.#letLargeGo();
    if (isGone && this.#hasMore) queueMicrotask(this.#flush);
  };

  /** Whether requests have not left yet. */
  get #hasMore(): boolean {
    return this.#filling.size > 0 || this.#waiting.size > 0 || this.#large.size > 0;
  }

  /** Lets the batch go that is filling; false when there is none, or no place for it. */
  #letGo(): boolean {
    if (this.#waiting.size > 0) this.#fill();
    const batch = this.#filling;
    if (batch.size === 0) return false;
    // What is filling grows until there is a place for it, or until its window ends.
    const { window } = this.#parts;
    if (window !== null && !this.#isDue && this.#hasRoom()) return false;
    const place = this.#placeFor(batch.size, false);
    if (place === null) return false;
    window?.shut();
    this.#isDue = false;
    this.#wasLarge = false;
    this.#filling = this.#idle.pop() ?? this.#emptyBatch();
    this.#run(batch, place);
    return true;
  }

  /** Adds requests that wait, those of the callers that were served least. */
  #fill(): void {
    const batch = this.#filling;
    const sizeBefore = batch.size;
    while (batch.size < MAX_BATCH_REQUESTS - KEPT_PLACES && batch.records.length < MAX_BATCH_BYTES) {
      const request = this.#waiting.take();
      if (request === undefined) break;
      batch.add(request.bytes, request.format, request.reply);
    }
    if (this.#waiting.size > 0) this.#isDue = true;
    else if (sizeBefore === 0 && batch.size > 0) this.#parts.window?.open(this.#windowEnded);
  }

  #letLargeGo(): boolean {
    const place = this.#large.size === 0 ? null : this.#placeFor(1, true);
    const request = place === null ? undefined : this.#large.take();
    if (place === null || request === undefined) return false;
    const batch = this.#idle.pop() ?? this.#emptyBatch();
    batch.add(request.bytes, request.format, request.reply);
    this.#wasLarge = true;
    this.#run(batch, place);
    return true;
  }

  /** Where a batch may be decided now; null when it has to wait. */
  #placeFor(requests: number, isLarge: boolean): 'here' | 'pool' | null {
    if (this.#generation !== null && this.#parts.pool?.takes(requests, isLarge) === true) return 'pool';
    // A large request is worth waiting for a thread that is busy with others.
    const mayBeHere = !isLarge || (this.#largeInFlight < MAX_LARGE_IN_FLIGHT && this.#inPool === 0);
    return this.#inFlight < MAX_BATCHES_IN_FLIGHT && mayBeHere ? 'here' : null;
  }

  #run(batch: DecisionBatch, place: 'here' | 'pool'): void {
    const generation = this.#generation;
    if (place === 'pool' && generation !== null) this.#runInPool(batch, generation);
    else this.#runHere(batch, generation);
  }

  #runHere(batch: DecisionBatch, generation: RuleGeneration | null): void {
    const bytes = batch.requestBytes;
    this.#inFlight++;
    if (bytes >= LARGE_REQUEST_BYTES && batch.size === 1) this.#largeInFlight++;
    const running = this.#parts.engine.run(batch, generation);
    if (running === undefined) this.#doneHere(batch, bytes);
    else {
      running.then(() => {
        this.#doneHere(batch, bytes);
        if (this.#hasMore) this.#scheduleFlush();
      });
    }
  }

  #doneHere(batch: DecisionBatch, bytes: number): void {
    this.#inFlight--;
    if (bytes >= LARGE_REQUEST_BYTES && batch.size === 1) this.#largeInFlight--;
    this.#parts.pool?.decidedHere(batch.size, batch.spentMs);
    this.#done(batch, batch.size, bytes);
  }

  #runInPool(batch: DecisionBatch, generation: RuleGeneration): void {
    const requests = batch.size;
    const bytes = batch.requestBytes;
    this.#inPool++;
    this.#parts.pool!.run(batch, generation).then(() => {
      this.#inPool--;
      this.#done(batch, requests, bytes);
      if (this.#hasMore) this.#scheduleFlush();
    });
  }

  #done(batch: DecisionBatch, requests: number, bytes: number): void {
    this.#queued -= requests;
    this.#queuedBytes -= bytes;
    batch.reset();
    // Batches beyond those that can be in flight, and large ones, come from a burst; their memory is given back.
    if (this.#idle.length < MAX_BATCHES_IN_FLIGHT && !batch.isLarge) this.#idle.push(batch);
    if (this.#queued === 0) for (const resolve of this.#drained.splice(0)) resolve();
  }
}
