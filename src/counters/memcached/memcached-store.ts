import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outage } from '../../base/outage-log.ts';
import { ADMISSION } from '../admission/admission.ts';
import { type CounterBatch, callsOf, callsWithoutCount } from '../batch.ts';
import { FailureLog } from '../failure-log.ts';
import { heldBackChanges, holdBack } from '../holding-back.ts';
import type { SlotChanges } from '../slot-changes.ts';
import type { CounterStore } from '../store.ts';
import type { CallOutcome, StoreCalls } from '../store-calls.ts';
import { MemcachedConnection } from './connection.ts';
import {
  type Addition,
  type ChangeParts,
  DecrementExchange,
  DeleteExchange,
  IncrementExchange,
  type MemcachedCounters,
  type Refund,
} from './count-exchanges.ts';
import type { MemcachedNodes } from './nodes.ts';
import { ADDS_EVERY_HIT, type Exchange, FetchExchange, isKeyFault, keyFault } from './protocol.ts';

interface MemcachedStoreParts {
  readonly nodes: MemcachedNodes;
  readonly counters: MemcachedCounters;
  readonly calls: StoreCalls;
  /** The outage of all nodes. Its parts are the addresses of the nodes. */
  readonly outage: Outage;
  /** False if a guarded store counts the failed requests of the outage. */
  readonly countsFailedCalls: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of the outage for error responses, which are not attributed to a server. */
const CALLS = 'calls';

/** The keys of a batch that one connection counts. */
interface Share {
  readonly slots: number[];
  readonly keys: string[];
}

/**
 * Counters in memcached. Decisions are based on the counts that are read, and do not wait for the hits to be added
 * (spec 8): concurrent requests may exceed a limit by the hits in flight. Reading and adding are sent in one write, so a
 * later request on the same connection reads the hits that were added before.
 *
 * An unavailable node, or a key that is not valid in memcached, fails only its own keys.
 */
export class MemcachedCounterStore implements CounterStore {
  readonly name = 'memcached';
  readonly #parts: MemcachedStoreParts;
  /** Failures of single keys. Failures of servers are outages. */
  readonly #failures: FailureLog;
  readonly #lost: FailureLog;

  constructor(parts: MemcachedStoreParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#failures = new FailureLog(clock, (reason, times) =>
      logger.error('memcached cannot count a key; requests with this key fail', { reason, times }),
    );
    this.#lost = new FailureLog(clock, (reason, times) =>
      logger.error('memcached rejected changes of counts; the counts are wrong', { reason, times }),
    );
  }

  start(): Promise<void> {
    return this.#parts.nodes.start();
  }

  /** Waits until all hits are added, within a limit, and closes all connections. */
  stop(): Promise<void> {
    return this.#parts.nodes.stop();
  }

  /** Resolves when all hits are added. */
  settled(): Promise<void> {
    return this.#parts.nodes.idle();
  }

  async increment(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    await this.#count(batch, share => changesOf(batch, share, batch.changes));
    batch.spreadCounts();
  }

  async read(batch: CounterBatch): Promise<void> {
    if (batch.slotCount > 0) await this.#read(batch);
  }

  /** Reads the counts, and then deletes the keys. memcached cannot notify other processes. */
  async reset(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    const shares = await this.#read(batch);
    const deleting = [...shares].map(
      ([connection, { slots, keys }]) =>
        new Promise<void>(resolve => {
          const done = (failed: readonly number[], reason: string): void => {
            for (const place of failed) batch.counts[slots[place]] = Number.NaN;
            batch.failureText ||= reason;
            resolve();
          };
          connection.send([new DeleteExchange(keys, done)]);
        }),
    );
    await Promise.all(deleting);
  }

  /** Not atomic: the counts are read first, and hits are added afterwards. */
  async incrementHoldingBack(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    const shares = await this.#count(batch, () => NO_CHANGES);
    holdBack(batch);
    const changes = heldBackChanges(batch);
    for (let slot = 0; slot < batch.slotCount; slot++)
      if (Number.isNaN(batch.counts[slot])) changes.clear(slot);
    for (const [connection, share] of shares) this.#send(connection, changesOf(batch, share, changes));
  }

  /**
   * Reads all counts of the batch for a decision, and sends `changes` in the same write.
   * @throws Fault `store_failed` if no node is connected
   */
  async #count(batch: CounterBatch, changes: (share: Share) => KeyChanges): Promise<Shares> {
    const startedMs = performance.now();
    const shares = await this.#fetch(batch, changes);
    this.#parts.calls.ended(outcomeOf(batch, shares), startedMs);
    this.#noteCalls(batch, shares.size > 0);
    return shares;
  }

  /**
   * Reads all counts of the batch.
   * @throws Fault `store_failed` if no node is connected
   */
  async #read(batch: CounterBatch): Promise<Shares> {
    const shares = await this.#fetch(batch, () => NO_CHANGES);
    this.#noteCalls(batch, shares.size > 0);
    return shares;
  }

  /** Reads all counts of the batch, NaN for those that cannot be read, and sends `changes` in the same write. */
  async #fetch(batch: CounterBatch, changes: (share: Share) => KeyChanges): Promise<Shares> {
    const { counters } = this.#parts;
    const shares = this.#share(batch);
    let keyCount = 0;
    const fetching = [...shares].map(([connection, share]) => {
      keyCount += share.keys.length;
      return new Promise<void>(resolve => {
        const fetch = new FetchExchange(share.keys, ({ counts, found, failure }) => {
          share.slots.forEach((slot, i) => {
            batch.counts[slot] = counts[i];
          });
          counters.keysFound.add(found);
          batch.failureText ||= failure;
          resolve();
        });
        this.#send(connection, changes(share), fetch);
      });
    });
    counters.keysRequested.add(keyCount);
    await Promise.all(fetching);
    (batch.failureText === '' ? counters.fetched : counters.fetchFailed).add(1);
    return shares;
  }

  /** @throws Fault `store_failed` if no node is connected */
  #noteCalls(batch: CounterBatch, asked: boolean): void {
    const { nodes, outage } = this.#parts;
    if (!nodes.anyUp) {
      this.#callsFailed(callsOf(batch));
      throw new Fault('store_failed', `memcached is not connected: ${nodes.reason}`);
    }
    const reason = batch.failureText;
    if (isKeyFault(reason)) this.#failures.failed(reason);
    else if (reason !== '') {
      // If a server is unavailable, the outage already has that reason.
      if (!outage.active) outage.failed(CALLS, reason);
      this.#callsFailed(callsWithoutCount(batch));
      return;
    }
    if (asked) outage.succeeded(CALLS);
  }

  #callsFailed(calls: number): void {
    const { outage, countsFailedCalls } = this.#parts;
    if (countsFailedCalls) outage.callsFailed(calls);
  }

  /** Groups the keys of the batch by connection. Keys that cannot be counted get NaN. */
  #share(batch: CounterBatch): Shares {
    const shares: Shares = new Map();
    const text = Buffer.from(batch.keys.bytes.buffer, batch.keys.bytes.byteOffset, batch.keys.length);
    for (let slot = 0; slot < batch.slotCount; slot++) {
      const key = text.toString('latin1', batch.keyStart(slot), batch.keyEnds[slot]);
      const fault = batch.admissions.kinds[slot] === ADMISSION.count ? keyFault(key) : ADDS_EVERY_HIT;
      const counting = fault === '' ? this.#parts.nodes.connectionFor(key) : null;
      if (!(counting instanceof MemcachedConnection)) {
        batch.counts[slot] = Number.NaN;
        batch.failureText ||=
          counting === null ? fault : `memcached at ${counting.address}: ${counting.reason}`;
        continue;
      }
      const share = shares.get(counting);
      if (share === undefined) shares.set(counting, { slots: [slot], keys: [key] });
      else {
        share.slots.push(slot);
        share.keys.push(key);
      }
    }
    return shares;
  }

  #changeLost(reason: string, by: 'answer' | 'connection'): void {
    // A failed connection is logged as an outage.
    if (by === 'answer') this.#lost.failed(reason);
    else
      this.#parts.logger.info('memcached changes of counts may be lost; the connection failed', { reason });
  }

  #send(connection: MemcachedConnection, { refunds, additions }: KeyChanges, fetch?: FetchExchange): void {
    const { counters, clock } = this.#parts;
    const send = (exchange: Exchange): void => connection.send([exchange]);
    const lost: ChangeParts['lost'] = (reason, by) => this.#changeLost(reason, by);
    const exchanges: Exchange[] = fetch === undefined ? [] : [fetch];
    if (refunds.length > 0) exchanges.push(new DecrementExchange(refunds, { counters, send, lost }));
    if (additions.length > 0) {
      const nowS = (): number => Math.floor(clock.nowMs() / 1_000);
      exchanges.push(new IncrementExchange(additions, { counters, send, lost, nowS }));
    }
    connection.send(exchanges);
  }
}

type Shares = Map<MemcachedConnection, Share>;

/** How reading the counts of a batch has ended. */
function outcomeOf({ failureText, counts, slotCount }: CounterBatch, shares: Shares): CallOutcome {
  if (failureText === '') return 'ok';
  if (!counts.subarray(0, slotCount).every(Number.isNaN)) return 'partial';
  return [...shares.keys()].some(({ timedOut }) => timedOut) ? 'timeout' : 'error';
}

/** The changes of the keys of a share. Refunds are sent first. */
interface KeyChanges {
  readonly refunds: readonly Refund[];
  readonly additions: readonly Addition[];
}

const NO_CHANGES: KeyChanges = { refunds: [], additions: [] };

/** The changes without hits of 0, which have no effect. */
function changesOf(batch: CounterBatch, { slots, keys }: Share, changes: SlotChanges): KeyChanges {
  const refunds: Refund[] = [];
  const additions: Addition[] = [];
  for (const [i, slot] of slots.entries()) {
    const key = keys[i];
    const amount = changes.amounts[slot];
    const refund = changes.refunds[slot];
    if (refund > 0) refunds.push({ key, amount: refund, hitsFollow: amount > 0 });
    if (amount > 0) additions.push({ key, amount, ttlS: batch.ttls[slot] });
  }
  return { refunds, additions };
}
