import type { MessagePort } from 'node:worker_threads';
import { Fault, type FaultCode } from '../base/fault.ts';
import type { CounterBatch } from './batch.ts';
import { packBatch, unpackCounts } from './packed-batch.ts';
import type { CounterStore } from './store.ts';
import type { TimedCall } from './timed-call.ts';

/** What the other thread does with a batch. */
export type HandedOnCall = 'increment' | 'incrementHoldingBack' | 'read' | 'reset';

/** A batch for the thread that has the store. Its buffer is transferred there, and back with the counts. */
export interface HandedOnBatch {
  readonly number: number;
  readonly call: HandedOnCall;
  readonly buffer: ArrayBuffer;
}

/** The result of the batch with this number. `opElsewhere` is null if no key was counted elsewhere. */
export type HandedOnResult = {
  readonly number: number;
  readonly buffer: ArrayBuffer;
  /** The call of the store; null if tracing is disabled. */
  readonly timedCall: TimedCall | null;
} & (
  | { readonly failureText: string; readonly opElsewhere: Uint8Array | null }
  /** The batch failed. `code` is null if the failure was not a fault. */
  | { readonly failed: { readonly code: FaultCode | null; readonly message: string } }
);

/** Maximum number of batches in flight. More than the batcher of a thread ever sends. */
const MAX_IN_FLIGHT = 256;

/** Maximum number of buffers that are kept for later batches. */
const MAX_SPARE = 8;

const ENDED = 'the process is shutting down';

interface InFlight {
  readonly batch: CounterBatch;
  readonly resolve: () => void;
  readonly reject: (failure: Error) => void;
}

/**
 * A store in another thread of this process. Batches are handed on over a port, to `HandedOnBatches`; everything else, for
 * example the local cache and the statistics of rules, stays in this thread. The other thread logs and counts the
 * failures of the store.
 */
export class HandedOnStore implements CounterStore {
  readonly name: string;
  readonly secondsApart: boolean;
  readonly #port: MessagePort;
  readonly #inFlight = new Map<number, InFlight>();
  readonly #spare: ArrayBuffer[] = [];
  #number = 0;
  #closed = false;

  /** @param store properties of the store in the other thread */
  constructor(
    port: MessagePort,
    { name, secondsApart = false }: Pick<CounterStore, 'name' | 'secondsApart'>,
  ) {
    this.name = name;
    this.secondsApart = secondsApart;
    this.#port = port;
    port.on('message', (result: HandedOnResult) => this.#settle(result));
    port.on('close', () => this.#failAll());
  }

  /** Does nothing: the other thread has started the store. */
  async start(): Promise<void> {}

  /** Closes the port. Batches in flight fail; the other thread may still count them. */
  async stop(): Promise<void> {
    this.#port.close();
    this.#failAll();
  }

  increment(batch: CounterBatch): Promise<void> {
    return this.#handOn('increment', batch);
  }

  incrementHoldingBack(batch: CounterBatch): Promise<void> {
    return this.#handOn('incrementHoldingBack', batch);
  }

  read(batch: CounterBatch): Promise<void> {
    return this.#handOn('read', batch);
  }

  reset(batch: CounterBatch): Promise<void> {
    return this.#handOn('reset', batch);
  }

  async #handOn(call: HandedOnCall, batch: CounterBatch): Promise<void> {
    if (this.#closed) throw new Fault('store_failed', ENDED);
    if (this.#inFlight.size >= MAX_IN_FLIGHT) {
      throw new Fault(
        'store_failed',
        `${MAX_IN_FLIGHT} batches of this serving thread wait for the primary thread, which sends them to the store`,
      );
    }
    const buffer = packBatch(batch, this.#spare.pop() ?? null);
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#inFlight.set(number, { batch, resolve, reject });
      this.#port.postMessage({ number, call, buffer } satisfies HandedOnBatch, [buffer]);
    });
  }

  #settle(result: HandedOnResult): void {
    const { number, buffer, timedCall } = result;
    const inFlight = this.#inFlight.get(number);
    if (inFlight === undefined) return;
    this.#inFlight.delete(number);
    const { batch, resolve, reject } = inFlight;
    batch.timedCall = timedCall;
    if ('failed' in result) {
      const { code, message } = result.failed;
      reject(code === null ? new Error(message) : new Fault(code, message));
    } else {
      unpackCounts(buffer, batch);
      batch.failureText = result.failureText;
      batch.countedElsewhere = result.opElsewhere !== null;
      if (result.opElsewhere !== null) batch.opElsewhere.set(result.opElsewhere);
      resolve();
    }
    if (this.#spare.length < MAX_SPARE) this.#spare.push(buffer);
  }

  #failAll(): void {
    this.#closed = true;
    const failure = new Fault('store_failed', ENDED);
    for (const { reject } of this.#inFlight.values()) reject(failure);
    this.#inFlight.clear();
  }
}
