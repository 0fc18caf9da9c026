import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { HandedOnBatches } from '../../counters/handed-on-batches.ts';
import { announceTopologies, type Topologies } from '../../counters/redis/topology/topologies.ts';
import type { CounterStore } from '../../counters/store.ts';
import type { Settings } from '../../settings/table.ts';
import { ownConnections } from './connection-shares.ts';

/**
 * Whether a serving thread hands its batches on to the primary thread.
 *
 * With memcached, all of them do: hits are added after the counts were read, and only on the same connection does the next
 * batch read hits that were just added. With connections of its own, each thread could exceed a limit by the hits that the
 * others have in flight, as separate processes do.
 */
export function handsOn(
  settings: Settings,
  thread: { readonly threads: number; readonly place: number },
): boolean {
  return settings.backendType === 'memcached' || ownConnections(settings, thread) === null;
}

/**
 * In the primary thread: the links between its store and those of the serving threads. A thread either hands its batches
 * on, or has connections of its own and learns here which servers to use.
 */
export class ServingLinks {
  readonly #settings: Settings;
  readonly #threads: number;
  readonly #store: CounterStore;
  readonly #fingerprintKey: FingerprintKey;
  readonly #topologies: Topologies;
  readonly #ports = new Set<MessagePort>();

  /**
   * @param threads number of serving threads
   * @param store of the primary thread
   */
  constructor(
    settings: Settings,
    threads: number,
    store: CounterStore,
    fingerprintKey: FingerprintKey,
    topologies: Topologies,
  ) {
    this.#settings = settings;
    this.#threads = threads;
    this.#store = store;
    this.#fingerprintKey = fingerprintKey;
    this.#topologies = topologies;
  }

  /**
   * Returns the port for the store of the serving thread at this place. The link ends when the port is closed, also because
   * the thread has ended.
   */
  attach(place: number): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#ports.add(port1);
    port1.on('close', () => this.#ports.delete(port1));
    if (handsOn(this.#settings, { threads: this.#threads, place }))
      new HandedOnBatches(port1, this.#store, this.#fingerprintKey);
    else announceTopologies(port1, this.#topologies);
    return port2;
  }

  /** Ends all links. Batches that are still in flight fail. */
  close(): void {
    for (const port of this.#ports) port.close();
  }
}
