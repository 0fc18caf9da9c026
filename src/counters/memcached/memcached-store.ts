import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { CounterBatch } from '../batch.ts';
import { FailureLog } from '../failure-log.ts';
import { holdBack } from '../holding-back.ts';
import type { CounterStore } from '../store.ts';
import { MemcachedConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { FetchExchange } from './fetch-exchange.ts';
import { type Addition, type IncrementCounters, IncrementExchange } from './increment-exchange.ts';
import { keyFault } from './key.ts';
import type { MemcachedNodes } from './nodes.ts';

/** What is counted about memcached (`ratelimit.memcache.*`). */
export interface MemcachedCounters extends IncrementCounters {
  /** Batches whose counts were all read, and batches with some that were not. */
  readonly fetched: Counter;
  readonly fetchFailed: Counter;
  readonly keysRequested: Counter;
  readonly keysFound: Counter;
}

export interface MemcachedStoreParts {
  readonly nodes: MemcachedNodes;
  readonly counters: MemcachedCounters;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The keys of a batch that one connection counts. */
interface Share {
  readonly slots: number[];
  readonly keys: string[];
}

/**
 * Counters in memcached. Counts are read, and the decision follows from them; the hits are added afterwards, and nobody
 * waits for that (spec 8), so requests that arrive together may pass a limit by as much as is under way. Reading and
 * adding leave in one write: what comes later on the same connection reads what was added before.
 *
 * A node that is away, or a key that memcached cannot hold, fails its own keys only.
 */
export class MemcachedCounterStore implements CounterStore {
  readonly name = 'memcached';
  readonly #parts: MemcachedStoreParts;
  readonly #failures: FailureLog;
  readonly #lost: FailureLog;

  constructor(parts: MemcachedStoreParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#failures = new FailureLog(clock, (reason, times) =>
      logger.error('memcached could not count', { reason, times }),
    );
    this.#lost = new FailureLog(clock, (reason, times) =>
      logger.error('hits were answered and perhaps not added in memcached', { reason, times }),
    );
  }

  start(): Promise<void> {
    return this.#parts.nodes.start();
  }

  /** Waits until what was sent is added, within a bound, and closes every connection. */
  stop(): Promise<void> {
    return this.#parts.nodes.stop();
  }

  /** Resolves when all hits are added. */
  settled(): Promise<void> {
    return this.#parts.nodes.idle();
  }

  async increment(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    await this.#fetch(batch, ({ slots, keys }) => this.#additions(batch, slots, keys, batch.amounts));
    for (let slot = 0; slot < batch.slotCount; slot++) batch.totals[slot] += batch.amounts[slot];
    batch.spreadTotals();
  }

  async read(batch: CounterBatch): Promise<void> {
    if (batch.slotCount > 0) await this.#fetch(batch, () => []);
  }

  /** The counts are read first; what follows from them is added afterwards, so this is not atomic. */
  async incrementHoldingBack(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    const shares = await this.#fetch(batch, () => []);
    const counts = batch.totals.slice(0, batch.slotCount);
    holdBack(batch, counts);
    const amounts = counts.map((count, slot) => count - batch.totals[slot]);
    for (const [connection, { slots, keys }] of shares) {
      this.#add(connection, this.#additions(batch, slots, keys, amounts));
    }
  }

  /**
   * Reads all counts into `totals`, NaN for those that cannot be read, and adds what `additions` says in the same write.
   * @throws Fault `store_failed` when no node can be asked
   */
  async #fetch(
    batch: CounterBatch,
    additions: (share: Share) => Addition[],
  ): Promise<ReadonlyMap<MemcachedConnection, Share>> {
    const { nodes, counters } = this.#parts;
    const shares = this.#share(batch);
    let keyCount = 0;
    const fetching = [...shares].map(([connection, share]) => {
      keyCount += share.keys.length;
      return new Promise<void>(resolve => {
        const fetch = new FetchExchange(share.keys, ({ counts, found, failure }) => {
          share.slots.forEach((slot, i) => {
            batch.totals[slot] = counts[i];
          });
          counters.keysFound.add(found);
          batch.failureText ||= failure;
          resolve();
        });
        this.#add(connection, additions(share), fetch);
      });
    });
    counters.keysRequested.add(keyCount);
    await Promise.all(fetching);
    (batch.failureText === '' ? counters.fetched : counters.fetchFailed).add(1);
    if (batch.failureText !== '') this.#failures.failed(batch.failureText);
    if (!nodes.anyUp) throw new Fault('store_failed', `memcached is not connected: ${nodes.reason}`);
    return shares;
  }

  /** The keys of the batch by the connection that counts them. Those that none can count get NaN. */
  #share(batch: CounterBatch): Map<MemcachedConnection, Share> {
    const shares = new Map<MemcachedConnection, Share>();
    const text = Buffer.from(batch.keys.bytes.buffer, batch.keys.bytes.byteOffset, batch.keys.length);
    for (let slot = 0; slot < batch.slotCount; slot++) {
      const key = text.toString('latin1', batch.keyStart(slot), batch.keyEnds[slot]);
      const fault = keyFault(key);
      const counting = fault === '' ? this.#parts.nodes.connectionFor(key) : null;
      if (!(counting instanceof MemcachedConnection)) {
        batch.totals[slot] = Number.NaN;
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

  #additions(
    batch: CounterBatch,
    slots: readonly number[],
    keys: readonly string[],
    amounts: Float64Array,
  ): Addition[] {
    const additions: Addition[] = [];
    for (const [i, slot] of slots.entries()) {
      // No hits change nothing, and NaN is a count that could not be read.
      if (amounts[slot] > 0) additions.push({ key: keys[i], amount: amounts[slot], ttlS: batch.ttls[slot] });
    }
    return additions;
  }

  #add(connection: MemcachedConnection, additions: readonly Addition[], fetch?: FetchExchange): void {
    const { counters, clock } = this.#parts;
    const exchanges: Exchange[] = fetch === undefined ? [] : [fetch];
    if (additions.length > 0)
      exchanges.push(
        new IncrementExchange(additions, {
          counters,
          send: exchange => connection.send([exchange]),
          lost: reason => this.#lost.failed(reason),
          nowS: () => Math.floor(clock.nowMs() / 1_000),
        }),
      );
    connection.send(exchanges);
  }
}
