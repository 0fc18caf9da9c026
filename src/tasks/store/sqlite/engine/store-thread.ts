import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { asError } from '../../../../base/fault.ts';
import { type LastingTask, reportReady } from '../../../../base/threads/inside-thread.ts';
import { WeightedTurns } from '../../../../base/turns/weighted-turns.ts';
import { type Operation, tenantOf } from '../../operations.ts';
import { sentFault } from '../../trouble.ts';
import { type FileOptions, restrictFile } from '../file/open-file.ts';
import { SteadyClock } from '../file/steady-clock.ts';
import { isRead, weightOf } from '../operations/operations.ts';
import {
  type FromStoreThread,
  shortened,
  type ThreadOutcome,
  type ToStoreThread,
} from './asked-operations.ts';
import { type Outcome, SqliteEngine } from './engine.ts';

/** The data with which a store thread is started. */
export interface StoreThreadSetup {
  readonly file: FileOptions;
}

/**
 * Opens the file and runs the operations from the port and from the ports of clients, until the port receives `stop`.
 *
 * @returns resolves when the file and all ports are closed, or when the file could not be opened
 */
export async function runStoreThread(
  { port: owner }: LastingTask,
  { file }: StoreThreadSetup,
): Promise<void> {
  const engine = new SqliteEngine(file, new SteadyClock(Date.now, () => performance.now()));
  try {
    engine.open();
  } catch (failure) {
    tell(owner, { kind: 'refused', fault: sentFault(asError(failure)) });
    return;
  }
  const queue = new Queue(engine);
  const ports = new Set<MessagePort>();
  const stopped = Promise.withResolvers<void>();
  let stops = false;
  const take = (port: MessagePort, message: ToStoreThread): void => {
    if (message.kind === 'operations') queue.take(port, message);
    else if (message.kind === 'client') listen(message.port);
    else stops = true;
  };
  const received = (port: MessagePort, message: ToStoreThread): void => {
    take(port, message);
    do {
      // Operations that have arrived meanwhile join the next group.
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
    stopped.resolve();
  };
  const listen = (port: MessagePort): void => {
    ports.add(port);
    port.once('close', () => ports.delete(port));
    port.on('message', (message: ToStoreThread) => received(port, message));
  };
  listen(owner);
  tell(owner, { kind: 'opened', openToOthers: restrictFile(file) });
  reportReady(owner);
  await stopped.promise;
}

function tell(port: MessagePort, message: FromStoreThread): void {
  port.postMessage(message);
}

/**
 * Limits of one group, so that new messages do not wait for long: the number of operations and of the tasks that they are
 * about. The writes of a group are one transaction.
 */
const GROUP = { items: 256, weight: 1_024 };
/** Number of tasks that the operations of a tenant are about in one turn. */
const QUANTUM = 64;

interface Waiting {
  /** The port that the operation came from. */
  readonly port: MessagePort;
  readonly number: number;
  readonly operation: Operation;
}

/** Operations that wait to be run; tenants take turns. The senders limit their number. */
class Queue {
  readonly #engine: SqliteEngine;
  readonly #reads = turns();
  readonly #writes = turns();
  /** The next group of writes, while another process holds the write lock. */
  #held: readonly Waiting[] = [];

  constructor(engine: SqliteEngine) {
    this.#engine = engine;
  }

  get isEmpty(): boolean {
    return this.#reads.isEmpty && this.#writes.isEmpty && this.#held.length === 0;
  }

  take(port: MessagePort, { numbers, operations }: Extract<ToStoreThread, { kind: 'operations' }>): void {
    operations.forEach((operation, i) => {
      const queue = isRead(operation) ? this.#reads : this.#writes;
      queue.add(tenantOf(operation), { port, number: numbers[i], operation });
    });
  }

  /** Runs a group of reads, which need not wait for the disk, and a group of writes. */
  doSome(): void {
    const reads = this.#reads.take(GROUP);
    if (reads.length > 0) this.#settled(reads, this.#engine.read(reads.map(operationOf)));
    const writes = this.#held.length > 0 ? this.#held : this.#writes.take(GROUP);
    if (writes.length === 0) return;
    const outcomes = this.#engine.tryWrite(writes.map(operationOf));
    this.#held = outcomes === null ? writes : [];
    if (outcomes !== null) this.#settled(writes, outcomes);
  }

  /** Each sender gets one message. */
  #settled(waiting: readonly Waiting[], outcomes: readonly Outcome[]): void {
    const answers = new Map<MessagePort, { numbers: number[]; outcomes: ThreadOutcome[] }>();
    waiting.forEach(({ port, number, operation }, i) => {
      const outcome = outcomes[i];
      let answer = answers.get(port);
      if (answer === undefined) {
        answer = { numbers: [], outcomes: [] };
        answers.set(port, answer);
      }
      answer.numbers.push(number);
      answer.outcomes.push(
        outcome.ok
          ? { ok: true, answer: shortened(operation, outcome.answer) }
          : { ok: false, fault: sentFault(outcome.fault) },
      );
    });
    const { clockBacksteps } = this.#engine;
    for (const [port, answer] of answers) tell(port, { kind: 'settled', ...answer, clockBacksteps });
  }
}

function turns(): WeightedTurns<Waiting> {
  return new WeightedTurns({ weightOf: waiting => weightOf(waiting.operation), quantum: QUANTUM });
}

function operationOf({ operation }: Waiting): Operation {
  return operation;
}
