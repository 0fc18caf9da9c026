import type { Clock } from '../../../src/base/clock.ts';
import type { Operation } from '../../../src/tasks/store/operations.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { MemoryStore } from '../../support/tasks/memory-store.ts';
import { ModelStore } from '../../support/tasks/model-store.ts';
import type { StoreKind } from '../steps/step.ts';

/** Is told of each operation, in the order in which they happen. */
export type OperationListener = (happened: HappenedOperation) => void;

/** An operation that the store has carried out. */
export interface HappenedOperation {
  readonly operation: Operation;
  readonly answer: unknown;
  /** By the clock of the store. */
  readonly at: number;
  /** When its process asked for it, in the same time as `now`. */
  readonly askedMs: number;
  /** Which process asked for it. */
  readonly process: string;
}

/** The store that all processes of a history share. It carries out one operation after the other. */
export class StoreUnderTest {
  readonly store: TaskStore;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #listeners: OperationListener[] = [];

  constructor(kind: StoreKind, clock: Clock) {
    this.#clock = clock;
    this.store = kind === 'model' ? new ModelStore(clock) : new MemoryStore(clock);
  }

  listen(listener: OperationListener): void {
    this.#listeners.push(listener);
  }

  /** @throws (rejects with) what the store rejects with */
  async run(operation: Operation, process: string, askedMs: number): Promise<unknown> {
    const { name, args } = operation;
    const at = this.#clock.nowMs();
    const ask = this.store[name] as (...args: readonly unknown[]) => Promise<unknown>;
    const answer = await ask.apply(this.store, [...args]);
    for (const listener of this.#listeners) listener({ operation, answer, at, askedMs, process });
    return answer;
  }
}
