import type { MessagePort } from 'node:worker_threads';
import { Fault } from '../../../base/fault.ts';
import { AskedOperations } from './asked-operations.ts';
import type { AnswerOf, ArgumentsOf, OperationName } from './operations.ts';
import type { Operator } from './store.ts';
import type { FromStoreThread } from './store-thread.ts';

/**
 * Has operations done by a store thread that another thread owns (`ThreadOperator.addClient`), over a port of its own.
 * While there is no port, operations wait for the next one.
 */
export class PortOperator implements Operator {
  readonly #wanted: () => void;
  readonly #asked: AskedOperations;
  #port: MessagePort | null = null;
  #stopped = false;

  /** @param wanted called when operations wait and there is no port: the owner is to start the store thread */
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

  /** How many operations wait for their answer. */
  get waiting(): number {
    return this.#asked.waiting;
  }

  /** The owner has started the store thread. */
  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#port?.close();
    this.#port = null;
    this.#asked.failAll(new Fault('store_failed', 'the task store is stopped'));
  }

  /** The way to a store thread that has just opened the file. */
  connect(port: MessagePort): void {
    if (this.#stopped) {
      port.close();
      return;
    }
    // That the one before is closed may be told later: what goes over this one must not fail for it.
    if (this.#port !== null) this.#lost(this.#port);
    this.#port = port;
    port.on('message', (message: FromStoreThread) => {
      if (message.kind === 'settled') this.#asked.settled(message);
    });
    port.once('close', () => this.#lost(port));
    this.#asked.flush();
  }

  /** The file could not be opened: what waits fails. */
  refused(reason: string): void {
    this.#asked.failAll(new Fault('store_failed', reason));
  }

  async ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    if (this.#stopped) throw new Fault('store_failed', 'the task store is stopped');
    return this.#asked.ask(name, args);
  }

  #lost(port: MessagePort): void {
    // Another has been there for a while.
    if (this.#port !== port) return;
    this.#port = null;
    this.#asked.failSent();
    if (this.#asked.waiting > 0) this.#wanted();
  }
}
