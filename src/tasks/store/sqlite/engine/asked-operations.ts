import type { MessagePort } from 'node:worker_threads';
import { Fault } from '../../../../base/fault.ts';
import type { OpenToOthers } from '../../../../base/files/owner-only.ts';
import type { StopThread, ThreadIsReady } from '../../../../base/threads/inside-thread.ts';
import { type Made, madeTask } from '../../made-task.ts';
import {
  type AnswerOf,
  type ArgumentsOf,
  type Operation,
  type OperationName,
  tenantOf,
} from '../../operations.ts';
import type { CreateAnswer, CreateResult } from '../../requests.ts';
import { receivedFault, type SentFault } from '../../trouble.ts';
import { WaitingBounds } from '../../waiting-bounds.ts';
import { sizeOf } from '../operations/operations.ts';

/**
 * Messages to the store thread. `operations`: the operations of one turn of the event loop, with numbers for their replies.
 * `client`: connects another thread over a separate port.
 */
export type ToStoreThread =
  | {
      readonly kind: 'operations';
      readonly numbers: readonly number[];
      readonly operations: readonly Operation[];
    }
  | { readonly kind: 'client'; readonly port: MessagePort }
  | StopThread;

/** The result of an operation. Answers are `shortened`; all faults are `store_failed`. */
export type ThreadOutcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly fault: SentFault };

export type FromStoreThread =
  | ThreadIsReady
  /** With the files that other users could read. The thread is ready then. */
  | { readonly kind: 'opened'; readonly openToOthers: readonly OpenToOthers[] }
  | { readonly kind: 'refused'; readonly fault: SentFault }
  | {
      readonly kind: 'settled';
      readonly numbers: readonly number[];
      readonly outcomes: readonly ThreadOutcome[];
      readonly clockBacksteps: number;
    };

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

/** Stands for a task that was just created. */
interface MadeResult extends Made {
  readonly kind: 'made';
}
type ShortAnswer =
  | Exclude<CreateAnswer, { kind: 'done' | 'replayed' }>
  | {
      readonly kind: 'done' | 'replayed';
      readonly results: readonly (CreateResult | MadeResult)[];
      readonly note: string;
    };

/**
 * Removes from the answer to `create` what the caller already knows, because copying a task to another thread takes as long
 * as writing it. Other answers are not changed.
 */
export function shortened({ name }: Operation, answer: unknown): unknown {
  if (name !== 'create') return answer;
  const whole = answer as CreateAnswer;
  if (whole.kind !== 'done') return whole;
  const results = whole.results.map(result =>
    result.kind === 'created'
      ? ({ kind: 'made', at: result.task.updatedAt, heldBy: result.task.heldBy } satisfies MadeResult)
      : result,
  );
  return { ...whole, results } satisfies ShortAnswer;
}

/** Reverses {@link shortened}. */
function restored(operation: Operation, answer: unknown): unknown {
  if (operation.name !== 'create') return answer;
  const short = answer as ShortAnswer;
  if (short.kind !== 'done') return short;
  const { tasks } = operation.args[1];
  const results = short.results.map((result, i) =>
    result.kind === 'made' ? { kind: 'created', task: madeTask(tasks[i], result) } : result,
  );
  return { ...short, results };
}
