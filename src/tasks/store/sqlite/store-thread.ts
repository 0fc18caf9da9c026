import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { asError } from '../../../base/fault.ts';
import { shortened } from './created-tasks.ts';
import { groupLength, type Outcome, SqliteEngine } from './engine.ts';
import type { FileOptions } from './open-file.ts';
import { isRead, type Operation } from './operations.ts';

/** What the thread of a store is given at its start. */
export interface StoreThreadSetup {
  readonly file: FileOptions;
}

/** All that was asked in one turn; operations by number, which is answered. */
export type ToStoreThread =
  | {
      readonly kind: 'operations';
      readonly numbers: readonly number[];
      readonly operations: readonly Operation[];
    }
  | { readonly kind: 'stop' };

/** What came of an operation; answers are `shortened`, all faults are `store_failed`. */
export type ThreadOutcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly message: string };

export type FromStoreThread =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'settled';
      readonly numbers: readonly number[];
      readonly outcomes: readonly ThreadOutcome[];
      readonly clockBacksteps: number;
    };

/** Opens the file, and does what comes over the port until that says `stop`. Then the port is closed. */
export function runStoreThread(port: MessagePort, { file }: StoreThreadSetup): void {
  const post = (message: FromStoreThread) => port.postMessage(message);
  const engine = new SqliteEngine(file, Date.now);
  try {
    engine.open();
  } catch (failure) {
    post({ kind: 'refused', message: asError(failure).message });
    port.close();
    return;
  }
  const queue = new Queue(engine, post);
  port.on('message', (message: ToStoreThread) => {
    let stops = queue.take(message);
    do {
      // Whatever has come meanwhile is part of the next group.
      for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
        stops = queue.take(more.message as ToStoreThread) || stops;
      }
      queue.doSome();
    } while (!queue.isEmpty);
    if (!stops) return;
    engine.close();
    port.close();
  });
  post({ kind: 'opened' });
}

interface Waiting {
  readonly numbers: number[];
  readonly operations: Operation[];
}

/** What waits to be done. The other side bounds how much that is. */
class Queue {
  readonly #engine: SqliteEngine;
  readonly #post: (message: FromStoreThread) => void;
  #reads: Waiting = { numbers: [], operations: [] };
  #writes: Waiting = { numbers: [], operations: [] };

  constructor(engine: SqliteEngine, post: (message: FromStoreThread) => void) {
    this.#engine = engine;
    this.#post = post;
  }

  get isEmpty(): boolean {
    return this.#reads.numbers.length === 0 && this.#writes.numbers.length === 0;
  }

  /** Returns whether this is the end. */
  take(message: ToStoreThread): boolean {
    if (message.kind === 'stop') return true;
    message.operations.forEach((operation, i) => {
      const waiting = isRead(operation) ? this.#reads : this.#writes;
      waiting.numbers.push(message.numbers[i]);
      waiting.operations.push(operation);
    });
    return false;
  }

  /** All that reads, so that it need not wait for the disk, and one group of what writes. */
  doSome(): void {
    const reads = this.#reads;
    if (reads.numbers.length > 0) {
      this.#reads = { numbers: [], operations: [] };
      this.#settled(reads, this.#engine.read(reads.operations));
    }
    const writes = this.#writes;
    if (writes.numbers.length === 0) return;
    const length = groupLength(writes.operations);
    const group = {
      numbers: writes.numbers.splice(0, length),
      operations: writes.operations.splice(0, length),
    };
    this.#settled(group, this.#engine.write(group.operations));
  }

  #settled({ numbers, operations }: Waiting, outcomes: readonly Outcome[]): void {
    this.#post({
      kind: 'settled',
      numbers,
      outcomes: outcomes.map((outcome, i) =>
        outcome.ok
          ? { ok: true, answer: shortened(operations[i], outcome.answer) }
          : { ok: false, message: outcome.fault.message },
      ),
      clockBacksteps: this.#engine.clockBacksteps,
    });
  }
}
