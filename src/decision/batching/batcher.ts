import { atTurnEnd } from '../../base/event-loop.ts';
import { Fault } from '../../base/fault.ts';
import { Bound } from '../../base/threads/shared-bound.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import type { Histogram } from '../../stats/histogram.ts';
import type { Counter } from '../../stats/registry.ts';
import { DecisionBatch } from '../batch.ts';
import type { Decider, DecisionReply, ResponseFormat } from '../decider.ts';
import type { Engine } from '../engine.ts';
import { ownRecord, REQUEST_KIND } from '../records.ts';
import type { NamedStatistics } from '../statistics/named-rows.ts';
import type { RuleGeneration } from '../statistics/rule-statistics.ts';
import type { BatchWindow } from './batch-window.ts';
import { MAX_QUEUED_BYTES, type QueueBounds, QueueRoom } from './queue-room.ts';
import { WaitingRequests } from './waiting-requests.ts';

/** Maximum number of requests in one batch. It also limits how long one batch blocks the thread. */
export const MAX_BATCH_REQUESTS = 512;

/** Maximum number of request bytes in one batch. */
const MAX_BATCH_BYTES = 131_072;

/** Places in a batch that waiting requests leave free, for callers that have no requests waiting. */
const KEPT_PLACES = 64;

/** A request of at least this size is decided in a batch of its own, so that earlier requests do not wait for it. */
export const LARGE_REQUEST_BYTES = 32_768;

/** Maximum number of batches of this thread that wait for the store. */
const MAX_BATCHES_IN_FLIGHT = 4;

/**
 * Maximum number of large requests of this thread that may wait for the store. Each keeps the thread busy for
 * milliseconds.
 */
const MAX_LARGE_IN_FLIGHT = 1;

/** Other threads that decide batches. */
export interface BatchPool {
  /** Whether a batch of this size should be decided by the pool now. `isLarge`: the batch would block this thread. */
  takes(requests: number, isLarge: boolean): boolean;
  /** Decides a batch as {@link Engine.run} does. The requests of the batch are gone afterwards. */
  run(batch: DecisionBatch, generation: RuleGeneration): Promise<void>;
  /** A batch was decided by this thread. */
  decidedHere(requests: number, spentMs: number): void;
}

/** Supplies the rules of each batch. */
export interface GenerationSource {
  /** Called when a batch starts. Returns null if there are no rules yet. */
  current(): RuleGeneration | null;
}

interface BatcherParts {
  readonly engine: Engine;
  /** The rules of each batch. Defaults to those that {@link Batcher.use} received last. */
  readonly rules?: GenerationSource;
  /** Null if this thread decides everything. */
  readonly pool: BatchPool | null;
  /** The statistics with names made from request values. */
  readonly named: NamedStatistics;
  readonly fingerprintKey: FingerprintKey;
  /** Maximum number of waiting requests (`MAX_QUEUED_DECISIONS`). */
  readonly maxQueued: number;
  /** If other threads have a queue as well: the bounds of all queues together. They replace `maxQueued`. */
  readonly sharedBounds?: QueueBounds;
  /** Delays batches so that they grow; null to send them immediately. */
  readonly window: Pick<BatchWindow, 'open' | 'shut'> | null;
  /** If the store is idle, a batch of this size over gRPC is sent without waiting for the end of the turn. */
  readonly earlyRequests: number;
  /** Calls that failed for another reason than the store. */
  readonly serviceError: Counter;
  /** Receives the number of requests of each batch. */
  readonly batchSizes: Pick<Histogram, 'record'>;
}

/** After this many batches of one request in a row, a request does not wait for the end of its turn. */
const LONE_BATCHES = 8;

/** One in this many requests waits nevertheless. Its batch shows whether turns bring more than one request again. */
const LONE_PROBE = 16;

/**
 * Collects requests into batches without a timer. All requests that are read in one turn of the event loop share a batch,
 * because each batch has costs of its own, in this thread and in the store. A request that is alone in its turn, as those of
 * a single sequential caller are, is decided as soon as the code that received it has run. Requests that arrive while
 * batches are in flight form the next batch. Batches are held back longer only if the operator configures a window.
 *
 * Requests that do not fit into the next batch wait in a queue for each caller, and callers take turns
 * ({@link WaitingRequests}): a caller that asks for little joins the next batch, no matter how many requests of other
 * callers are waiting.
 */
export class Batcher implements Decider {
  readonly #parts: BatcherParts;
  #generation: RuleGeneration | null = null;
  #filling: DecisionBatch;
  /**
   * True if the filling batch does not wait for the end of its window: the window has ended, or requests wait behind
   * it.
   */
  #isDue = false;
  /** Requests that did not fit into the filling batch. */
  readonly #waiting = new WaitingRequests();
  /** Large requests, each of which is decided in a batch of its own. */
  readonly #large = new WaitingRequests();
  /** True if the last batch sent was a large request. */
  #wasLarge = false;
  /** Stands for all callers whose connection is unknown. */
  readonly #anybody = {};
  readonly #idle: DecisionBatch[] = [];
  #inFlight = 0;
  #largeInFlight = 0;
  #inPool = 0;
  #isFlushScheduled = false;
  /** Number of scheduled flushes in a row whose batch had one request. */
  #loneBatches = 0;
  /** Requests that wait or are being decided. */
  readonly #room: QueueRoom;
  #decided = 0;
  readonly #drained: (() => void)[] = [];

  constructor(parts: BatcherParts) {
    const { maxQueued, sharedBounds } = parts;
    this.#parts = parts;
    this.#room = new QueueRoom(
      sharedBounds ?? { requests: Bound.ofOneThread(maxQueued), bytes: Bound.ofOneThread(MAX_QUEUED_BYTES) },
    );
    this.#filling = this.#emptyBatch();
  }

  /** Decides every following batch with this generation of rules. Has no effect if a source supplies the rules. */
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
      if (this.#room.hasRoom()) this.#join(request, format, reply);
      else this.#refuse(reply, this.#room.fullMessage());
    } else this.#wait(isLarge ? this.#large : this.#waiting, request, format, reply);
  }

  /** Number of requests that wait or are being decided. */
  get pending(): number {
    return this.#room.requests;
  }

  /** Number of requests that have been decided, or refused in a batch. */
  get decided(): number {
    return this.#decided;
  }

  /** Resolves when no request waits or is being decided. */
  drained(): Promise<void> {
    if (this.#room.requests === 0) return Promise.resolve();
    return new Promise(resolve => this.#drained.push(resolve));
  }

  #callerOf(reply: DecisionReply): object {
    return reply.caller ?? this.#anybody;
  }

  #hasRoom(): boolean {
    return this.#filling.size < MAX_BATCH_REQUESTS && this.#filling.records.length < MAX_BATCH_BYTES;
  }

  /** Adds a request to the filling batch. */
  #join(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const { window, earlyRequests } = this.#parts;
    const filling = this.#filling;
    filling.add(request, format, reply);
    this.#room.add(request.length);
    const isFull = !this.#hasRoom();
    if (window !== null && !this.#isDue && !isFull) {
      if (filling.size === 1) window.open(this.#windowEnded);
    } else if (format !== 'protobuf') this.#flushAtTurnEnd();
    else if (isFull || (filling.size === earlyRequests && this.#inFlight === 0 && window === null))
      queueMicrotask(this.#flush);
    else this.#scheduleFlush();
  }

  /** Queues a request, or rejects it if the caller has used up its share of the queue. */
  #wait(queue: WaitingRequests, request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const caller = this.#callerOf(reply);
    const count = this.#waiting.countOf(caller) + this.#large.countOf(caller);
    const bytes = this.#waiting.bytesOf(caller) + this.#large.bytesOf(caller);
    const isShared = caller !== this.#anybody && count > 0;
    const room = this.#room;
    if (!(isShared ? room.hasRoomForMore() : room.hasRoom())) this.#refuse(reply, room.fullMessage());
    else if (isShared && room.isShareUsed(count, bytes)) this.#refuse(reply, room.shareMessage(count, bytes));
    else {
      queue.add(caller, { bytes: ownRecord(REQUEST_KIND[format], request), format, reply });
      room.add(request.length);
      this.#flushAtTurnEnd();
    }
  }

  #refuse(reply: DecisionReply, reason: string): void {
    this.#parts.serviceError.add(1);
    reply.refused(new Fault('overloaded', `${reason}; retry later`));
  }

  #emptyBatch(): DecisionBatch {
    return new DecisionBatch(this.#parts.fingerprintKey, this.#parts.named);
  }

  readonly #windowEnded = (): void => {
    this.#isDue = true;
    this.#flush();
  };

  /** Schedules a flush for requests over gRPC. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    if (this.#loneBatches < LONE_BATCHES || this.#decided % LONE_PROBE === 0) {
      this.#flushAtTurnEnd();
      return;
    }
    this.#isFlushScheduled = true;
    queueMicrotask(this.#scheduledFlush);
  }

  /**
   * Requests of `/json` always wait for the end of the turn. Each arrives in a callback of its own, and uWebSockets.js sends
   * each piece of an answer as a packet if it is written within the callback of another request. So do requests that wait
   * in a queue, because some of them are from `/json`.
   */
  #flushAtTurnEnd(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    atTurnEnd(this.#scheduledFlush);
  }

  readonly #scheduledFlush = (): void => {
    this.#isFlushScheduled = false;
    this.#loneBatches = this.#filling.size === 1 ? this.#loneBatches + 1 : 0;
    this.#flush();
  };

  /** Sends one batch. The next one is sent after the responses of this one have been written. */
  readonly #flush = (): void => {
    const isLargeNext = !this.#wasLarge && this.#large.size > 0;
    const isSent = isLargeNext
      ? this.#sendLarge() || this.#sendFilling()
      : this.#sendFilling() || this.#sendLarge();
    if (isSent && this.#hasMore()) queueMicrotask(this.#flush);
  };

  /** Whether requests are waiting to be sent. A method: V8 calls into its runtime for each private getter. */
  #hasMore(): boolean {
    return this.#filling.size > 0 || this.#waiting.size > 0 || this.#large.size > 0;
  }

  /** Sends the filling batch. Returns false if it is empty or cannot be decided yet. */
  #sendFilling(): boolean {
    if (this.#waiting.size > 0) this.#fill();
    const batch = this.#filling;
    if (batch.size === 0) return false;
    // The filling batch grows until a thread is free for it, or until its window ends.
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

  /** Adds waiting requests to the filling batch, first those of the callers that were served least. */
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

  #sendLarge(): boolean {
    const place = this.#large.size === 0 ? null : this.#placeFor(1, true);
    const request = place === null ? undefined : this.#large.take();
    if (place === null || request === undefined) return false;
    const batch = this.#idle.pop() ?? this.#emptyBatch();
    batch.take(request.bytes, request.reply);
    this.#wasLarge = true;
    this.#run(batch, place);
    return true;
  }

  /** The place where a batch can be decided now; null if it has to wait. */
  #placeFor(requests: number, isLarge: boolean): 'here' | 'pool' | null {
    const { pool } = this.#parts;
    if (pool !== null && this.#rules() !== null && pool.takes(requests, isLarge)) return 'pool';
    // A large request waits for a busy pool thread rather than block this one.
    const mayBeHere = !isLarge || (this.#largeInFlight < MAX_LARGE_IN_FLIGHT && this.#inPool === 0);
    return this.#inFlight < MAX_BATCHES_IN_FLIGHT && mayBeHere ? 'here' : null;
  }

  #rules(): RuleGeneration | null {
    const { rules } = this.#parts;
    return rules === undefined ? this.#generation : rules.current();
  }

  #run(batch: DecisionBatch, place: 'here' | 'pool'): void {
    const generation = this.#rules();
    this.#parts.batchSizes.record(batch.size);
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
        if (this.#hasMore()) this.#flushAtTurnEnd();
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
      if (this.#hasMore()) this.#flushAtTurnEnd();
    });
  }

  #done(batch: DecisionBatch, requests: number, bytes: number): void {
    this.#room.remove(requests, bytes);
    this.#decided += requests;
    batch.reset();
    // Batches beyond the maximum in flight, and large batches, come from a burst. Their memory is released.
    if (this.#idle.length < MAX_BATCHES_IN_FLIGHT && !batch.isLarge) this.#idle.push(batch);
    if (this.#room.requests > 0 || this.#drained.length === 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}
