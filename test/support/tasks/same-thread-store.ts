import type { Clock } from '../../../src/base/clock.ts';
import { SqliteEngine } from '../../../src/tasks/store/sqlite/engine/engine.ts';
import { type Operator, SqliteStore } from '../../../src/tasks/store/sqlite/engine/sqlite-store.ts';
import { type StoreFile, withDefaults } from '../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { SteadyClock } from '../../../src/tasks/store/sqlite/file/steady-clock.ts';
import {
  type AnswerOf,
  type ArgumentsOf,
  isRead,
  type Operation,
  type OperationName,
} from '../../../src/tasks/store/sqlite/operations/operations.ts';

/** A clock for tests. `monotonicMs` is a second clock that is never set; by default that of the system. */
interface TestClock extends Pick<Clock, 'nowMs'> {
  monotonicMs?(): number;
}

/** The SQLite store without its thread, so that tests can control its time. */
export function sameThreadSqliteStore(file: StoreFile, clock: TestClock): SqliteStore {
  const steady = new SteadyClock(
    () => clock.nowMs(),
    () => clock.monotonicMs?.() ?? performance.now(),
  );
  return new SqliteStore(new SameThread(new SqliteEngine(withDefaults(file), steady)));
}

/** Runs each operation at once in the calling thread, which it blocks. */
class SameThread implements Operator {
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
