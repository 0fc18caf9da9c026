import { CounterBatch, type CounterOp } from '../batch.ts';
import type { FingerprintKey } from '../fingerprint.ts';

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
