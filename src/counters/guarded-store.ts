import type { Clock, Timer } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { Outage } from '../base/outage-log.ts';
import type { Counter } from '../stats/registry.ts';
import { CounterBatch, type CounterOp, callsOf } from './batch.ts';
import type { FingerprintKey } from './fingerprint.ts';
import type { CounterStore } from './store.ts';

interface GuardedStoreParts {
  /** The store that may fail. */
  readonly store: CounterStore;
  /** Counts while it does; null when nobody is to, so that the keys stay without a count. */
  readonly local: CounterStore | null;
  /** Of the store as a whole; its texts say what becomes of requests meanwhile. */
  readonly outage: Outage;
  readonly uncounted: UncountedOps;
  readonly probes: ProbeKeys;
  readonly counters: {
    /** Calls that the store did not decide. */
    readonly storeError: Counter;
    readonly outages: Counter;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** This store among the parts of the outage: it lasts until the probe has an answer. */
const GUARD = 'guard';

/** Waits between two looks whether the store is back. */
const PROBE_MS = 1_000;

/** How long a start waits for the store, before it begins with one that fails. */
const START_MS = 5_000;

/** Waits between attempts to start a store that has given up. */
const RESTART_MS = 5_000;

/**
 * A store that never fails a batch. From the first batch that its store fails on, none goes to it any more: they are
 * counted in the local store, or left without a count for the decision to fill in. In the background the store is asked
 * with 0 hits for keys of the batch that failed; once it answers, it counts again, from where it was.
 */
export class GuardedStore implements CounterStore {
  readonly name: string;
  readonly #parts: GuardedStoreParts;
  #reason: string | null = null;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(parts: GuardedStoreParts) {
    this.#parts = parts;
    this.name = parts.store.name;
  }

  get secondsApart(): boolean {
    return this.#parts.store.secondsApart === true;
  }

  /** Why the store does not count; null while it does. */
  get reason(): string | null {
    return this.#reason;
  }

  increment(batch: CounterBatch): void | Promise<void> {
    return this.#count(batch, countAll);
  }

  incrementHoldingBack(batch: CounterBatch): void | Promise<void> {
    return this.#count(batch, countHoldingBack);
  }

  async read(batch: CounterBatch): Promise<void> {
    const { store, local } = this.#parts;
    try {
      if (this.#reason === null) return await readOrLeave(store, batch);
    } catch (failure) {
      if (!(failure instanceof Fault && failure.code === 'store_failed')) throw failure;
    }
    await readOrLeave(local, batch);
  }

  /**
   * Starts the store. One that does not answer within five seconds is one that fails, and the start is done.
   * @throws Error when the store gives up within that time
   */
  async start(): Promise<void> {
    const { store, clock } = this.#parts;
    const bound = Promise.withResolvers<'late'>();
    const timer = clock.after(START_MS, () => bound.resolve('late'));
    const starting = store.start();
    try {
      if ((await Promise.race([starting, bound.promise])) !== 'late') return;
    } finally {
      timer.cancel();
    }
    this.#fails(`it did not answer within ${START_MS} ms`);
    starting.catch((failure: unknown) => this.#startAgain(failure));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#parts.outage.left(GUARD);
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    await this.#parts.store.stop();
  }

  #count(batch: CounterBatch, count: Count): void | Promise<void> {
    if (this.#reason !== null) return this.#countElsewhere(batch, count, this.#reason);
    return count(this.#parts.store, batch)?.then(
      () => {
        if (batch.failureText !== '') this.#countLeftOvers(batch, count);
      },
      (failure: unknown) => {
        if (!(failure instanceof Fault && failure.code === 'store_failed')) throw failure;
        if (this.#reason === null) {
          this.#parts.probes.take(batch);
          this.#fails(failure.message);
        }
        this.#countElsewhere(batch, count, failure.message);
      },
    );
  }

  #countElsewhere(batch: CounterBatch, count: Count, reason: string): void {
    const { local, counters } = this.#parts;
    const calls = callsOf(batch);
    counters.storeError.add(calls);
    this.#parts.outage.callsFailed(calls);
    if (local === null) leaveUncounted(batch, reason);
    else {
      batch.failureText = '';
      count(local, batch);
    }
  }

  /** Some keys could not be counted, for instance those of one node. */
  #countLeftOvers(batch: CounterBatch, count: Count): void {
    const { local, uncounted, counters } = this.#parts;
    const calls = uncounted.take(batch);
    counters.storeError.add(calls);
    this.#parts.outage.callsFailed(calls);
    if (local === null) return;
    count(local, uncounted.batch);
    uncounted.giveBack(batch);
  }

  #fails(reason: string): void {
    const { outage, counters } = this.#parts;
    this.#reason = reason;
    counters.outages.add(1);
    outage.lost(GUARD, reason);
    this.#after(PROBE_MS, () => void this.#probe());
  }

  #isBack(): void {
    this.#reason = null;
    this.#parts.outage.connected(GUARD);
  }

  async #probe(): Promise<void> {
    const { store, probes, clock, logger } = this.#parts;
    const batch = probes.batch(Math.floor(clock.nowMs() / 1_000));
    try {
      await store.increment(batch);
    } catch (failure) {
      logger.debug('The counter store is still unavailable', {
        store: store.name,
        reason: asError(failure).message,
      });
      batch.opAfters.fill(Number.NaN, 0, batch.opCount);
    }
    if (this.#stopped) return;
    // A key that cannot be counted says nothing about the others.
    if (batch.opAfters.subarray(0, batch.opCount).some(after => !Number.isNaN(after))) this.#isBack();
    else this.#after(PROBE_MS, () => void this.#probe());
  }

  #startAgain(failure: unknown): void {
    if (this.#stopped) return;
    const { store, logger } = this.#parts;
    logger.debug('Could not start the counter store; retrying', {
      store: store.name,
      reason: asError(failure).message,
    });
    this.#after(RESTART_MS, () => store.start().catch((again: unknown) => this.#startAgain(again)));
  }

  #after(delayMs: number, run: () => void): void {
    if (this.#stopped) return;
    const timer = this.#parts.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

/** Reads the counts of a batch; those of a store that cannot be read are not known. */
async function readOrLeave(store: CounterStore | null, batch: CounterBatch): Promise<void> {
  if (store?.read !== undefined) await store.read(batch);
  else batch.counts.fill(Number.NaN, 0, batch.slotCount);
}

type Count = (store: CounterStore, batch: CounterBatch) => void | Promise<void>;

const countAll: Count = (store, batch) => store.increment(batch);
const countHoldingBack: Count = (store, batch) => store.incrementHoldingBack(batch);

/** Keys that a failing store is asked for: few, and enough to meet several of its servers. */
const MAX_KEYS = 8;

/** Seconds that a key lives that was made up to ask for it. */
const MADE_UP_TTL_S = 60;

const MINUTE = 2;

/** Keys by which it is found out whether a store counts again: with 0 hits, which change no count. */
export class ProbeKeys {
  readonly #fingerprintKey: FingerprintKey;
  readonly #madeUp: Uint8Array;
  #keys: { readonly bytes: Uint8Array; readonly op: CounterOp }[] = [];
  #secondsApart = false;

  /** @param prefix what keys of this service begin with */
  constructor(fingerprintKey: FingerprintKey, prefix: string) {
    this.#fingerprintKey = fingerprintKey;
    this.#madeUp = Buffer.from(`${prefix}sluice_store_probe`);
  }

  /** Takes keys of a batch that failed, whose servers are those that must come back. */
  take(batch: CounterBatch): void {
    this.#secondsApart = batch.secondsApart;
    this.#keys = [];
    for (let slot = 0; slot < batch.slotCount && this.#keys.length < MAX_KEYS; slot++) {
      // Asking makes a key that is not there, and one that was only refunded must stay absent.
      if (batch.changes.opens[slot] === 0) continue;
      this.#keys.push({
        bytes: batch.keys.bytes.slice(batch.keyStart(slot), batch.keyEnds[slot]),
        op: {
          hits: 0,
          isRefund: false,
          limit: 0,
          unit: batch.units[slot],
          ttlS: batch.ttls[slot],
          expiryS: batch.expiries[slot],
        },
      });
    }
  }

  /** A batch of these keys; before a batch has failed, of one that was made up. */
  batch(nowS: number): CounterBatch {
    const batch = new CounterBatch(this.#fingerprintKey);
    batch.secondsApart = this.#secondsApart;
    batch.reset(nowS);
    for (const { bytes, op } of this.#keys) batch.addOp(bytes, { start: 0, end: bytes.length }, op);
    if (batch.opCount === 0) {
      const times = { ttlS: MADE_UP_TTL_S, expiryS: nowS + MADE_UP_TTL_S };
      const op = { hits: 0, isRefund: false, limit: 0, unit: MINUTE, ...times };
      batch.addOp(this.#madeUp, { start: 0, end: this.#madeUp.length }, op);
    }
    batch.endGroup(false);
    return batch;
  }
}

/** No key of the batch has a count. */
function leaveUncounted(batch: CounterBatch, reason: string): void {
  batch.opAfters.fill(Number.NaN, 0, batch.opCount);
  batch.opHeld.fill(0, 0, batch.opCount);
  batch.failureText = reason;
}

/** The ops of a batch that its store left without a count, as a batch of their own for another store. */
export class UncountedOps {
  readonly batch: CounterBatch;
  /** By op of {@link batch}: its number in the batch that it comes from. */
  readonly #origins: number[] = [];

  /** @param key the one of the batches that are taken from, so that a key is the same in both */
  constructor(key: FingerprintKey) {
    this.batch = new CounterBatch(key);
  }

  /** Takes the ops without a count; how many requests they belong to. */
  take(from: CounterBatch): number {
    this.batch.secondsApart = from.secondsApart;
    this.batch.reset(from.nowS);
    this.#origins.length = 0;
    let calls = 0;
    let first = 0;
    for (let group = 0; group < from.groupCount; group++) {
      const before = this.batch.opCount;
      const end = from.groupEnds[group];
      for (let op = first; op < end; op++) if (Number.isNaN(from.opAfters[op])) this.#takeOp(from, op);
      if (this.batch.opCount > before) {
        calls++;
        this.batch.endGroup(from.groupHeld[group] === 1);
      }
      first = end;
    }
    return calls;
  }

  /** Puts the counts into the batch that the ops were taken from. */
  giveBack(to: CounterBatch): void {
    for (const [op, origin] of this.#origins.entries()) {
      to.opAfters[origin] = this.batch.opAfters[op];
      to.opHeld[origin] = this.batch.opHeld[op];
    }
  }

  #takeOp(from: CounterBatch, op: number): void {
    const slot = from.opSlots[op];
    this.batch.addOp(
      from.keys.bytes,
      { start: from.keyStart(slot), end: from.keyEnds[slot] },
      {
        hits: from.opHits[op],
        isRefund: from.opRefunds[op] === 1,
        limit: from.opLimits[op],
        unit: from.units[slot],
        ttlS: from.ttls[slot],
        expiryS: from.expiries[slot],
      },
    );
    this.#origins.push(op);
  }
}
