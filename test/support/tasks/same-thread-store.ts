import type { Clock } from '../../../src/base/clock.ts';
import {
  type AnswerOf,
  type ArgumentsOf,
  type Operation,
  type OperationName,
  type Operator,
  storeOf,
} from '../../../src/tasks/store/operations.ts';
import { SqliteEngine } from '../../../src/tasks/store/sqlite/engine/engine.ts';
import { type StoreFile, withDefaults } from '../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { SteadyClock } from '../../../src/tasks/store/sqlite/file/steady-clock.ts';
import { isRead } from '../../../src/tasks/store/sqlite/operations/operations.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import type { Teardown } from '../temp-directory.ts';

/** A clock for tests. `monotonicMs` is a second clock that is never set; by default that of the system. */
interface TestClock extends Pick<Clock, 'nowMs'> {
  monotonicMs?(): number;
}

/** The SQLite store without its thread, so that tests can control its time. */
export function sameThreadSqliteStore(file: StoreFile, clock: TestClock): TaskStore {
  return storeOf('sqlite', new SameThread(engineOf(file, clock)));
}

/** The engine alone, open until the test ends. */
export function openedEngine(t: Teardown, file: StoreFile, clock: TestClock): SqliteEngine {
  const engine = engineOf(file, clock);
  engine.open();
  t.teardown(() => engine.close());
  return engine;
}

function engineOf(file: StoreFile, clock: TestClock): SqliteEngine {
  const steady = new SteadyClock(
    () => clock.nowMs(),
    () => clock.monotonicMs?.() ?? performance.now(),
  );
  return new SqliteEngine(withDefaults(file), steady);
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
