import type { MessagePort } from 'node:worker_threads';
import { asError, Fault } from '../base/fault.ts';
import { CounterBatch } from './batch.ts';
import type { FingerprintKey } from './fingerprint.ts';
import type { HandedOnBatch, HandedOnCall, HandedOnResult } from './handed-on-store.ts';
import { packCounts, unpackBatch } from './packed-batch.ts';
import { type CounterStore, callIfAble } from './store.ts';

/** Maximum number of batch objects that are kept for later batches. */
const MAX_SPARE = 8;

/** Counts the batches that a `HandedOnStore` of another thread sends, in the store of this thread. */
export class HandedOnBatches {
  readonly #port: MessagePort;
  readonly #store: CounterStore;
  readonly #fingerprintKey: FingerprintKey;
  readonly #spare: CounterBatch[] = [];

  /** @param fingerprintKey the key of the batches of the other thread */
  constructor(port: MessagePort, store: CounterStore, fingerprintKey: FingerprintKey) {
    this.#port = port;
    this.#store = store;
    this.#fingerprintKey = fingerprintKey;
    port.on('message', (message: HandedOnBatch) => void this.#count(message));
  }

  async #count({ number, call, buffer }: HandedOnBatch): Promise<void> {
    const batch = this.#spare.pop() ?? new CounterBatch(this.#fingerprintKey);
    let result: HandedOnResult;
    try {
      unpackBatch(buffer, batch);
      await run(this.#store, call, batch);
      packCounts(batch, buffer);
      const { timedCall, failureText } = batch;
      const opElsewhere = batch.countedElsewhere ? batch.opElsewhere.slice(0, batch.opCount) : null;
      result = { number, buffer, timedCall, failureText, opElsewhere };
    } catch (failure) {
      const code = failure instanceof Fault ? failure.code : null;
      const failed = { code, message: asError(failure).message };
      result = { number, buffer, timedCall: batch.timedCall, failed };
    }
    this.#port.postMessage(result, [buffer]);
    if (this.#spare.length < MAX_SPARE) this.#spare.push(batch);
  }
}

function run(store: CounterStore, call: HandedOnCall, batch: CounterBatch): void | Promise<void> {
  if (call === 'increment') return store.increment(batch);
  if (call === 'incrementHoldingBack') return store.incrementHoldingBack(batch);
  return callIfAble(store, call, batch);
}
