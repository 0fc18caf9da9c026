import {
  type AnswerOf,
  type ArgumentsOf,
  isRead,
  type Operation,
  type OperationName,
} from '../operations/operations.ts';
import type { SqliteEngine } from './engine.ts';
import type { Operator } from './sqlite-store.ts';

/** Does each operation at once in the thread that asks, which stands still meanwhile. For tests and tools. */
export class SameThread implements Operator {
  readonly #engine: SqliteEngine;

  constructor(engine: SqliteEngine) {
    this.#engine = engine;
  }

  async start(): Promise<void> {
    this.#engine.open();
  }

  async stop(): Promise<void> {
    this.#engine.close();
  }

  async ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    const operation = { name, args } as Operation;
    const [outcome] = isRead(operation) ? this.#engine.read([operation]) : this.#engine.write([operation]);
    if (!outcome.ok) throw outcome.fault;
    return outcome.answer as AnswerOf<N>;
  }
}
