import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { asError } from '../../../base/fault.ts';
import { shortened } from './created-tasks.ts';
import { groupLength, type Outcome, SqliteEngine } from './engine.ts';
import type { FileOptions } from './open-file.ts';
import { isRead, type Operation } from './operations.ts';
import { SteadyClock } from './steady-clock.ts';

/** What the thread of a store is given at its start. */
export interface StoreThreadSetup {
  readonly file: FileOptions;
}

/**
 * All operations of one turn, by number. Each is answered under its number. The owner of the thread can also connect
 * another thread over a separate port.
 */
export type ToStoreThread =
  | {
      readonly kind: 'operations';
      readonly numbers: readonly number[];
      readonly operations: readonly Operation[];
    }
  | { readonly kind: 'client'; readonly port: MessagePort }
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

/**
 * Opens the file and runs the operations from the port and from the ports of clients, until the port receives `stop`.
 * Then all ports are closed.
 */
export function runStoreThread(owner: MessagePort, { file }: StoreThreadSetup): void {
  const engine = new SqliteEngine(file, new SteadyClock(Date.now, () => performance.now()));
  try {
    engine.open();
  } catch (failure) {
    tell(owner, { kind: 'refused', message: asError(failure).message });
    owner.close();
    return;
  }
  const queue = new Queue(engine);
  const ports = new Set<MessagePort>();
  let stops = false;
  const take = (port: MessagePort, message: ToStoreThread): void => {
    if (message.kind === 'operations') queue.take(port, message);
    else if (message.kind === 'client') listen(message.port);
    else stops = true;
  };
  const heard = (port: MessagePort, message: ToStoreThread): void => {
    take(port, message);
    do {
      // Whatever has come meanwhile is part of the next group.
      for (const each of ports) {
        for (let more = receiveMessageOnPort(each); more !== undefined; more = receiveMessageOnPort(each)) {
          take(each, more.message as ToStoreThread);
        }
      }
      queue.doSome();
    } while (!queue.isEmpty);
    if (!stops) return;
    engine.close();
    for (const each of ports) each.close();
  };
  const listen = (port: MessagePort): void => {
    ports.add(port);
    port.once('close', () => ports.delete(port));
    port.on('message', (message: ToStoreThread) => heard(port, message));
  };
  listen(owner);
  tell(owner, { kind: 'opened' });
}

function tell(port: MessagePort, message: FromStoreThread): void {
  port.postMessage(message);
}

interface Waiting {
  /** The port that the operation came from. */
  readonly ports: MessagePort[];
  readonly numbers: number[];
  readonly operations: Operation[];
}

/** Operations that wait to be run. The senders limit their number. */
class Queue {
  readonly #engine: SqliteEngine;
  #reads: Waiting = nothing();
  #writes: Waiting = nothing();

  constructor(engine: SqliteEngine) {
    this.#engine = engine;
  }

  get isEmpty(): boolean {
    return this.#reads.numbers.length === 0 && this.#writes.numbers.length === 0;
  }

  take(port: MessagePort, { numbers, operations }: Extract<ToStoreThread, { kind: 'operations' }>): void {
    operations.forEach((operation, i) => {
      const waiting = isRead(operation) ? this.#reads : this.#writes;
      waiting.ports.push(port);
      waiting.numbers.push(numbers[i]);
      waiting.operations.push(operation);
    });
  }

  /** All that reads, so that it need not wait for the disk, and one group of what writes. */
  doSome(): void {
    const reads = this.#reads;
    if (reads.numbers.length > 0) {
      this.#reads = nothing();
      this.#settled(reads, this.#engine.read(reads.operations));
    }
    const writes = this.#writes;
    if (writes.numbers.length === 0) return;
    const length = groupLength(writes.operations);
    const group = {
      ports: writes.ports.splice(0, length),
      numbers: writes.numbers.splice(0, length),
      operations: writes.operations.splice(0, length),
    };
    this.#settled(group, this.#engine.write(group.operations));
  }

  /** Each sender gets one message. */
  #settled({ ports, numbers, operations }: Waiting, outcomes: readonly Outcome[]): void {
    const answers = new Map<MessagePort, { numbers: number[]; outcomes: ThreadOutcome[] }>();
    outcomes.forEach((outcome, i) => {
      let answer = answers.get(ports[i]);
      if (answer === undefined) {
        answer = { numbers: [], outcomes: [] };
        answers.set(ports[i], answer);
      }
      answer.numbers.push(numbers[i]);
      answer.outcomes.push(
        outcome.ok
          ? { ok: true, answer: shortened(operations[i], outcome.answer) }
          : { ok: false, message: outcome.fault.message },
      );
    });
    const { clockBacksteps } = this.#engine;
    for (const [port, answer] of answers) tell(port, { kind: 'settled', ...answer, clockBacksteps });
  }
}

function nothing(): Waiting {
  return { ports: [], numbers: [], operations: [] };
}
