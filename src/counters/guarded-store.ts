import type { Clock, Timer } from '../base/clock.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { Outage } from '../base/outage-log.ts';
import type { Counter } from '../stats/registry.ts';
import { ADMISSION } from './admission/admission.ts';
import { CounterBatch, type CounterOp, callsOf } from './batch.ts';
import type { FingerprintKey } from './fingerprint.ts';
import { type CounterStore, callIfAble, listLeases, type SlotLeases } from './store.ts';

interface GuardedStoreParts {
  /** The store that may fail. */
  readonly store: CounterStore;
  /** Counts while the store fails; null to leave the keys without a count. */
  readonly local: CounterStore | null;
  /** The outage of the whole store. Its texts say how requests are decided meanwhile. */
  readonly outage: Outage;
  /** The key of the batches. */
  readonly fingerprintKey: FingerprintKey;
  /** `CACHE_KEY_PREFIX`, the prefix of the keys. */
  readonly keyPrefix: string;
  readonly counters: {
    /** Requests that the store did not count. */
    readonly storeError: Counter;
    readonly outages: Counter;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of the outage for the whole store: it ends when a probe succeeds. */
const GUARD = 'guard';

/** Interval between probes of the store. */
const PROBE_MS = 1_000;

/** How long `start` waits for the store before it treats the store as failing. */
const START_MS = 5_000;

/** Delay between attempts to start a store that failed to start. */
const RESTART_MS = 5_000;

/**
 * A store that never fails a batch (`STORE_FAILURE_MODE`). After the first failed batch, batches no longer go to the
 * guarded store: they are counted in the local store, or left without a count, which the evaluator decides. In the
 * background, the guarded store is probed with 0 hits for keys of the failed batch. When a probe succeeds, it counts
 * again.
 */
export class GuardedStore implements CounterStore {
  readonly name: string;
  readonly #parts: GuardedStoreParts;
  readonly #uncounted: UncountedOps;
  readonly #probes: ProbeKeys;
  #reason: string | null = null;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(parts: GuardedStoreParts) {
    this.#parts = parts;
    this.#uncounted = new UncountedOps(parts.fingerprintKey);
    this.#probes = new ProbeKeys(parts.fingerprintKey, parts.keyPrefix);
    this.name = parts.store.name;
  }

  get secondsApart(): boolean {
    return this.#parts.store.secondsApart === true;
  }

  /** Why the store does not count; null while it counts. */
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
    for (let slot = 0; slot < batch.slotCount; slot++)
      if (batch.admissions.isLeased(slot)) batch.counts[slot] = Number.NaN;
  }

  /** Also removes what is counted in this process. While the store is unavailable, its counts are not removed. */
  async reset(batch: CounterBatch): Promise<void> {
    const { store, local } = this.#parts;
    const isAway = this.#reason !== null;
    if (isAway && local === null) throw new Fault('store_failed', this.#reason ?? '');
    if (store.reset === undefined) throw new Fault('store_failed', `the ${store.name} store cannot be reset`);
    await local?.reset?.(batch);
    if (!isAway) await store.reset(batch);
  }

  /** Leases are only in the guarded store. */
  async preview(batch: CounterBatch): Promise<void> {
    if (this.#reason !== null) throw new Fault('store_failed', this.#reason);
    await callIfAble(this.#parts.store, 'preview', batch);
  }

  async leases(batch: CounterBatch, most: number): Promise<readonly (SlotLeases | null)[]> {
    if (this.#reason !== null) throw new Fault('store_failed', this.#reason);
    return listLeases(this.#parts.store, batch, most);
  }

  /**
   * Starts the store. If the store does not respond within five seconds, it is treated as failing, and the start is done.
   * @throws Error if the store fails to start within that time
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
    this.#fail(`it did not respond within ${START_MS} ms`);
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
        if (batch.failureText !== '') this.#countUncounted(batch, count);
      },
      (failure: unknown) => {
        if (!(failure instanceof Fault && failure.code === 'store_failed')) throw failure;
        if (this.#reason === null) {
          this.#probes.take(batch);
          this.#fail(failure.message);
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
    else if (batch.leases.count > 0) {
      leaveUncounted(batch, reason);
      this.#uncounted.take(batch);
      this.#countLocally(local, batch, count);
    } else {
      batch.failureText = '';
      batch.countedElsewhere = true;
      batch.opElsewhere.fill(1, 0, batch.opCount);
      count(local, batch);
    }
  }

  /** Handles a batch of which some keys could not be counted, for example those of one node. */
  #countUncounted(batch: CounterBatch, count: Count): void {
    const { local, counters } = this.#parts;
    const uncounted = this.#uncounted;
    const calls = uncounted.take(batch);
    counters.storeError.add(calls);
    this.#parts.outage.callsFailed(calls);
    if (local !== null) this.#countLocally(local, batch, count);
  }

  #countLocally(local: CounterStore, batch: CounterBatch, count: Count): void {
    count(local, this.#uncounted.batch);
    this.#uncounted.giveBack(batch);
  }

  #fail(reason: string): void {
    const { outage, counters } = this.#parts;
    this.#reason = reason;
    counters.outages.add(1);
    outage.lost(GUARD, reason);
    this.#after(PROBE_MS, () => void this.#probe());
  }

  #recover(): void {
    this.#reason = null;
    this.#parts.outage.connected(GUARD);
  }

  async #probe(): Promise<void> {
    const { store, clock, logger } = this.#parts;
    const batch = this.#probes.batch(Math.floor(clock.nowMs() / 1_000));
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
    // One counted key is enough: the others may be on a node that still fails.
    if (batch.opAfters.subarray(0, batch.opCount).some(after => !Number.isNaN(after))) this.#recover();
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

/** Reads the counts of a batch; NaN if the store cannot be read. */
async function readOrLeave(store: CounterStore | null, batch: CounterBatch): Promise<void> {
  if (store?.read !== undefined) await store.read(batch);
  else batch.counts.fill(Number.NaN, 0, batch.slotCount);
}

type Count = (store: CounterStore, batch: CounterBatch) => void | Promise<void>;

const countAll: Count = (store, batch) => store.increment(batch);
const countHoldingBack: Count = (store, batch) => store.incrementHoldingBack(batch);

/** Maximum number of keys in a probe: few, but enough to reach several servers. */
const MAX_KEYS = 8;

/** Time to live of the key that is probed if no batch has failed yet. */
const PROBE_KEY_TTL_S = 60;

const MINUTE = 2;

/** Creates the batches that probe a store: keys with 0 hits, which do not change a count. */
class ProbeKeys {
  readonly #fingerprintKey: FingerprintKey;
  readonly #probeKey: Uint8Array;
  #keys: { readonly bytes: Uint8Array; readonly op: CounterOp }[] = [];
  #secondsApart = false;

  /** @param prefix the prefix of the keys of this service */
  constructor(fingerprintKey: FingerprintKey, prefix: string) {
    this.#fingerprintKey = fingerprintKey;
    this.#probeKey = Buffer.from(`${prefix}sluice_store_probe`);
  }

  /** Takes over keys of a failed batch: their servers must become available again. */
  take(batch: CounterBatch): void {
    this.#secondsApart = batch.secondsApart;
    this.#keys = [];
    for (let slot = 0; slot < batch.slotCount && this.#keys.length < MAX_KEYS; slot++) {
      if (batch.admissions.isLeased(slot)) continue;
      const admits = batch.admissions.kinds[slot] !== ADMISSION.count;
      // A probe creates a missing count, and a key that is only refunded must not be created.
      if (!admits && batch.changes.opens[slot] === 0) continue;
      this.#keys.push({
        bytes: batch.keys.bytes.slice(batch.keyStart(slot), batch.keyEnds[slot]),
        op: batch.opFor(slot, { hits: 0, isRefund: false, limit: 0 }),
      });
    }
  }

  /** A batch of these keys; if no batch has failed yet, of a key made for probing. */
  batch(nowS: number): CounterBatch {
    const batch = new CounterBatch(this.#fingerprintKey);
    batch.secondsApart = this.#secondsApart;
    batch.reset(nowS * 1_000);
    for (const { bytes, op } of this.#keys) batch.addOp(bytes, { start: 0, end: bytes.length }, op);
    if (batch.opCount === 0) {
      const times = { ttlS: PROBE_KEY_TTL_S, expiryS: nowS + PROBE_KEY_TTL_S };
      const op = { hits: 0, isRefund: false, limit: 0, unit: MINUTE, ...times };
      batch.addOp(this.#probeKey, { start: 0, end: this.#probeKey.length }, op);
    }
    batch.endGroup(false);
    return batch;
  }
}

/** Marks all keys of a batch as uncounted. */
function leaveUncounted(batch: CounterBatch, reason: string): void {
  batch.opAfters.fill(Number.NaN, 0, batch.opCount);
  batch.opHeld.fill(0, 0, batch.opCount);
  batch.opRefused.fill(0, 0, batch.opCount);
  batch.failureText = reason;
}

/**
 * The uncounted ops of a batch, as a separate batch for another store.
 *
 * Leases are not counted elsewhere: every process would hold hits up to the limit, and a lease that was taken in one process
 * could not be settled in another, or when the store is available again. A request with an uncounted lease is therefore not
 * counted elsewhere at all: it is answered with an error, and hits of a request that gets an error must not be used up.
 */
class UncountedOps {
  readonly batch: CounterBatch;
  /** By op of {@link batch}: its number in the original batch. */
  readonly #origins: number[] = [];

  /** @param key the fingerprint key of the original batches, so that fingerprints are equal in both */
  constructor(key: FingerprintKey) {
    this.batch = new CounterBatch(key);
  }

  /** Takes over the ops without a count. Returns the number of their requests. */
  take(from: CounterBatch): number {
    this.batch.secondsApart = from.secondsApart;
    this.batch.reset(from.nowMs);
    this.#origins.length = 0;
    let calls = 0;
    let first = 0;
    for (let group = 0; group < from.groupCount; group++) {
      const before = this.batch.opCount;
      const end = from.groupEnds[group];
      const isLost = from.leases.count > 0 && hasLostLease(from, first, end);
      if (isLost) calls++;
      else for (let op = first; op < end; op++) if (Number.isNaN(from.opAfters[op])) this.#takeOp(from, op);
      if (this.batch.opCount > before) {
        calls++;
        this.batch.endGroup(from.groupHeld[group] === 1);
      }
      first = end;
    }
    return calls;
  }

  /** Writes the counts into the original batch, and marks their ops there. */
  giveBack(to: CounterBatch): void {
    to.countedElsewhere = true;
    to.opElsewhere.fill(0, 0, to.opCount);
    for (const [op, origin] of this.#origins.entries()) {
      to.opElsewhere[origin] = 1;
      to.opAfters[origin] = this.batch.opAfters[op];
      to.opHeld[origin] = this.batch.opHeld[op];
      to.opRefused[origin] = this.batch.opRefused[op];
      const [slot, slotOfOrigin] = [this.batch.opSlots[op], to.opSlots[origin]];
      to.admissions.floors[slotOfOrigin] = this.batch.admissions.floors[slot];
      to.admissions.previous[slotOfOrigin] = this.batch.admissions.previous[slot];
      if (to.admissions.penalties.count > 0)
        to.admissions.penalties.copy(slotOfOrigin, this.batch.admissions.penalties, slot);
    }
  }

  #takeOp(from: CounterBatch, op: number): void {
    const slot = from.opSlots[op];
    const key = { start: from.keyStart(slot), end: from.keyEnds[slot] };
    const own = { hits: from.opHits[op], isRefund: from.opRefunds[op] === 1, limit: from.opLimits[op] };
    const reserve = from.admissions.kinds[slot] === ADMISSION.count ? 0 : from.opReserves[op];
    this.batch.addOp(from.keys.bytes, key, from.opFor(slot, own, reserve));
    this.#origins.push(op);
  }
}

/** Whether the lease of an op in `[first, end)` could not be counted. */
function hasLostLease(batch: CounterBatch, first: number, end: number): boolean {
  for (let op = first; op < end; op++) {
    if (batch.admissions.isLeased(batch.opSlots[op]) && Number.isNaN(batch.opAfters[op])) return true;
  }
  return false;
}
