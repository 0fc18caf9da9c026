import { CounterBatch } from '../batch.ts';
import type { FingerprintKey } from '../fingerprint.ts';

/** No key of the batch has a count. */
export function leaveUncounted(batch: CounterBatch, reason: string): void {
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
