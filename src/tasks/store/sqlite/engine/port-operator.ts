import type { MessagePort } from 'node:worker_threads';
import { Fault } from '../../../../base/fault.ts';
import type { AnswerOf, ArgumentsOf, OperationName, Operator } from '../../operations.ts';
import { receivedFault, type SentFault } from '../../trouble.ts';
import { AskedOperations, type FromStoreThread } from './asked-operations.ts';

/**
 * Sends operations over a port to a store thread that another thread owns (`ThreadOperator.addClient`). While there is
 * no port, operations wait for the next one.
 */
export class PortOperator implements Operator {
  readonly #wanted: () => void;
  readonly #asked: AskedOperations;
  #port: MessagePort | null = null;
  #stopped = false;
  #clockBacksteps = 0;

  /** @param wanted called when operations wait and there is no port, so that the owner starts the store thread */
  constructor(wanted: () => void) {
    this.#wanted = wanted;
    this.#asked = new AskedOperations(message => {
      if (this.#port === null) {
        wanted();
        return false;
      }
      this.#port.postMessage(message);
      return true;
    });
  }

  /** How often the clock of the host was set back, as counted by the current store thread. */
  get clockBacksteps(): number {
    return this.#clockBacksteps;
  }

  /** Number of operations in progress. */
  get waiting(): number {
    return this.#asked.waiting;
  }

  /** Called when the owner has started the store thread. */
  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#port?.close();
    this.#port = null;
    this.#asked.failAll(new Fault('store_failed', 'the task store is stopped'));
  }

  /** Connects to a store thread that has just opened the file. */
  connect(port: MessagePort): void {
    if (this.#stopped) {
      port.close();
      return;
    }
    // The `close` event of the previous port may come later. It must not fail operations that were sent over this port.
    if (this.#port !== null) this.#lost(this.#port);
    this.#port = port;
    port.on('message', (message: FromStoreThread) => {
      if (message.kind !== 'settled') return;
      this.#clockBacksteps = message.clockBacksteps;
      this.#asked.settled(message);
    });
    port.once('close', () => this.#lost(port));
    this.#asked.flush();
  }

  /** Called if the file could not be opened. All waiting operations fail. */
  refused(fault: SentFault): void {
    this.#asked.failAll(receivedFault(fault));
  }

  async ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    if (this.#stopped) throw new Fault('store_failed', 'the task store is stopped');
    return this.#asked.ask(name, args);
  }

  #lost(port: MessagePort): void {
    // Another port has replaced this one.
    if (this.#port !== port) return;
    this.#port = null;
    this.#asked.failSent();
    if (this.#asked.waiting > 0) this.#wanted();
  }
}
