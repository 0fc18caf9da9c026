import type { Clock } from '../../../src/base/clock.ts';
import { OPERATION_NAMES, type Operation, type OperationName } from '../../../src/tasks/store/operations.ts';
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

/**
 * A task store in memory: the tables of the SQLite store, with the time of a test. They stay when it is stopped. A test
 * may override `run`.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the operations are defined below, as those of every store
export class MemoryStore {
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

export interface MemoryStore extends Pick<TaskStore, OperationName> {}

for (const name of OPERATION_NAMES) {
  Object.defineProperty(MemoryStore.prototype, name, {
    configurable: true,
    writable: true,
    async value(this: MemoryStore, ...args: unknown[]) {
      return this.run({ name, args } as Operation);
    },
  });
}
