import type { Clock } from '../../../src/base/clock.ts';
import { OPERATION_NAMES, type Operation } from '../../../src/tasks/store/operations.ts';
import { Numbers } from '../../../src/tasks/store/sqlite/file/numbers.ts';
import { nodeSqlite } from '../../../src/tasks/store/sqlite/file/open-file.ts';
import { migrate } from '../../../src/tasks/store/sqlite/file/schema.ts';
import { Statements } from '../../../src/tasks/store/sqlite/file/statements.ts';
import { isRead, read, write } from '../../../src/tasks/store/sqlite/operations/operations.ts';
import { Work } from '../../../src/tasks/store/sqlite/rows/work.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';

/** The tables that were used last. */
let current: Statements;
/** One for all stores: a new one for each would take longer than most tests. */
const numbers = new Numbers({
  one: (...asked: Parameters<Statements['one']>) => current.one(...asked),
  run: (...asked: Parameters<Statements['run']>) => current.run(...asked),
} as Statements);

/** The tables of the SQLite store in memory, whose time is that of a test. They stay when the store is stopped. */
class Tables {
  readonly name = 'memory';
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #statements = new Statements(new (nodeSqlite().DatabaseSync)(':memory:'));

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
    migrate(this.#statements.db, ':memory:');
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  /** Runs the operation at once, whole or not at all. */
  run(operation: Operation): unknown {
    const [statements, now] = [this.#statements, this.#clock.nowMs()];
    if (current !== statements) numbers.forget();
    current = statements;
    if (isRead(operation)) return read({ statements, numbers, now }, operation);
    statements.run('BEGIN');
    try {
      const work = new Work(statements, numbers, now);
      const answer = write(work, operation);
      work.flush();
      statements.run('COMMIT');
      return answer;
    } catch (failure) {
      numbers.forget();
      statements.run('ROLLBACK');
      throw failure;
    }
  }
}

for (const name of OPERATION_NAMES) {
  Object.defineProperty(Tables.prototype, name, {
    configurable: true,
    writable: true,
    async value(this: Tables, ...args: unknown[]) {
      return this.run({ name, args } as Operation);
    },
  });
}

/** A task store in memory, which tests may extend. Open it with the clock that it takes its time from. */
export const MemoryStore = Tables as unknown as new (clock: Pick<Clock, 'nowMs'>) => TaskStore;
export type MemoryStore = TaskStore;
