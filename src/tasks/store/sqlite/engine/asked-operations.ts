import { Fault } from '../../../../base/fault.ts';
import { receivedFault } from '../../trouble.ts';
import { WaitingBounds } from '../../waiting-bounds.ts';
import {
  type AnswerOf,
  type ArgumentsOf,
  type Operation,
  type OperationName,
  sizeOf,
  tenantOf,
} from '../operations/operations.ts';
import { restored } from './created-tasks.ts';
import type { FromStoreThread, ToStoreThread } from './store-thread.ts';

/** Maximum number of operations that wait for the thread, and of characters in them; see `WaitingBounds`. */
const WAITING_LIMITS = { count: 8_192, size: 64 * 1024 * 1024 };

interface Pending {
  readonly operation: Operation;
  readonly tenant: string;
  /** The size that it counts as in the limits. */
  readonly counted: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: Fault) => void;
}

/**
 * The operations that one thread sends to the store thread, from request to reply. Their number and size are limited, and
 * tenants have shares of both. The operations of one turn of the event loop are sent in one message.
 */
export class AskedOperations {
  readonly #send: (message: ToStoreThread) => boolean;
  readonly #pending = new Map<number, Pending>();
  readonly #bounds = new WaitingBounds(WAITING_LIMITS);
  /** Operations that have not been sent yet. */
  #numbers: number[] = [];
  #operations: Operation[] = [];
  #lastNumber = 0;
  #isFlushing = false;

  /** @param send returns false if no thread is connected; the operations then wait */
  constructor(send: (message: ToStoreThread) => boolean) {
    this.#send = send;
  }

  /** Number of operations in progress. */
  get waiting(): number {
    return this.#pending.size;
  }

  /**
   * @throws (rejects with) Fault `overloaded` if too many operations wait; otherwise the error passed to
   *   {@link settled} or {@link failAll}
   */
  ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    return new Promise((resolve, reject) => {
      const operation = { name, args } as Operation;
      const tenant = tenantOf(operation);
      const counted = this.#bounds.take(tenant, sizeOf(operation));
      if (counted === null) {
        const waiting = this.#pending.size;
        reject(
          new Fault('overloaded', `${waiting} operations are waiting for the task store; try again later`),
        );
        return;
      }
      const number = ++this.#lastNumber;
      this.#pending.set(number, {
        operation,
        tenant,
        counted,
        resolve: resolve as (answer: unknown) => void,
        reject,
      });
      this.#numbers.push(number);
      this.#operations.push(operation);
      this.#flushAfterThisTurn();
    });
  }

  /** Sends the waiting operations, if a thread is connected. */
  flush(): void {
    if (this.#numbers.length === 0) return;
    const [numbers, operations] = [this.#numbers, this.#operations];
    if (!this.#send({ kind: 'operations', numbers, operations })) return;
    this.#numbers = [];
    this.#operations = [];
  }

  settled({ numbers, outcomes }: Extract<FromStoreThread, { kind: 'settled' }>): void {
    numbers.forEach((number, i) => {
      const outcome = outcomes[i];
      const pending = this.#take(number);
      if (pending === undefined) return;
      if (outcome.ok) pending.resolve(restored(pending.operation, outcome.answer));
      else pending.reject(receivedFault(outcome.fault));
    });
  }

  /** The thread that received the operations is gone. Operations that have not been sent continue to wait. */
  failSent(): void {
    const fault = new Fault(
      'store_failed',
      'the store thread was lost; the operation may or may not have been done',
    );
    const unsent = new Set(this.#numbers);
    for (const number of [...this.#pending.keys()]) {
      if (!unsent.has(number)) this.#take(number)?.reject(fault);
    }
  }

  failAll(fault: Fault): void {
    this.#numbers = [];
    this.#operations = [];
    for (const number of [...this.#pending.keys()]) this.#take(number)?.reject(fault);
  }

  /** Sends at the end of this turn of the event loop, together with all other operations of the turn. */
  #flushAfterThisTurn(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.flush();
    });
  }

  #take(number: number): Pending | undefined {
    const pending = this.#pending.get(number);
    if (pending === undefined) return undefined;
    this.#pending.delete(number);
    this.#bounds.give(pending.tenant, pending.counted);
    return pending;
  }
}
