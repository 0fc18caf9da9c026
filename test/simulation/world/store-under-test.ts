import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../src/base/clock.ts';
import type { Operation } from '../../../src/tasks/store/operations.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { differingPlaces } from '../../exam/task-store/differing-places.ts';
import { comparable } from '../../exam/task-store/random.ts';
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
  /** Carries out the same operations; null if nothing is compared. */
  readonly #model: TaskStore | null;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #listeners: OperationListener[] = [];
  /** Where both stores answered otherwise for the first time. */
  difference: string | null = null;

  constructor(kind: StoreKind, clock: Clock) {
    this.#clock = clock;
    this.store = kind === 'model' ? new ModelStore(clock) : new MemoryStore(clock);
    this.#model = kind === 'both' ? new ModelStore(clock) : null;
  }

  listen(listener: OperationListener): void {
    this.#listeners.push(listener);
  }

  /** @throws (rejects with) what the store rejects with */
  async run(operation: Operation, process: string, askedMs: number): Promise<unknown> {
    const at = this.#clock.nowMs();
    const answer = await carryOut(this.store, operation);
    if (this.#model !== null) this.#compare(operation, answer, await carryOut(this.#model, operation));
    for (const listener of this.#listeners) listener({ operation, answer, at, askedMs, process });
    return answer;
  }

  #compare({ name }: Operation, answer: unknown, expected: unknown): void {
    // Where to continue is the own business of each store.
    if (name === 'forgetTenant') return;
    const [found, wanted] = [comparable(name, answer), comparable(name, expected)];
    if (this.difference !== null || isDeepStrictEqual(found, wanted)) return;
    this.difference = `${name} was answered otherwise than by the model: ${differingPlaces(found, wanted)}`;
  }
}

function carryOut(store: TaskStore, { name, args }: Operation): Promise<unknown> {
  const run = store[name] as (...args: readonly unknown[]) => Promise<unknown>;
  return run.apply(store, [...args]);
}
