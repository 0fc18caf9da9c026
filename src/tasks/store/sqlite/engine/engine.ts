import type { DatabaseSync } from 'node:sqlite';
import { asError, type Fault } from '../../../../base/fault.ts';
import type { Operation } from '../../operations.ts';
import { StoreFault } from '../../trouble.ts';
import {
  asksForNewConnection,
  FilePlace,
  hasRoom,
  isBusy,
  isEnvironmental,
  storeFault,
} from '../file/failure.ts';
import { Numbers } from '../file/numbers.ts';
import { boundWal, type FileOptions, openFile } from '../file/open-file.ts';
import { Statements } from '../file/statements.ts';
import type { SteadyClock } from '../file/steady-clock.ts';
import { isRead, read, write } from '../operations/operations.ts';
import { Work } from '../rows/work.ts';

/** The result of an operation. */
export type Outcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly fault: Fault };

/** Interval at which the time of the store is written to the file, together with other writes. */
const CLOCK_KEPT_MS = 5_000;
const KEEP_CLOCK = 'UPDATE clock SET at = max(at, ?) WHERE no = 1 RETURNING at';
const KEPT_CLOCK = 'SELECT at FROM clock WHERE no = 1';

/** The size of the WAL is checked after this number of transactions. */
const WAL_LOOKED_AT = 64;

/** How long SQLite waits for the write lock of another process at a time. Reads are served in between. */
const BUSY_SLICE_MS = 25;

/**
 * The store in one thread, on one connection, synchronous. Writes are done in groups, each in one transaction. No write is
 * acknowledged before it is on the disk, and the operations of a group wait for the disk together.
 *
 * If one operation fails, the group is rolled back and its operations are done one by one. If the file cannot be written,
 * all operations of the group fail without an effect, and the next group tries again.
 */
export class SqliteEngine {
  readonly #options: FileOptions;
  readonly #clock: SteadyClock;
  #connection: { readonly statements: Statements; readonly numbers: Numbers } | null = null;
  #transactions = 0;
  #clockKeptMs = Number.NEGATIVE_INFINITY;
  /** The identity of the file when it was opened; null before that. */
  #place: FilePlace | null = null;
  /** Why nothing may be written, as of the last ping; null if it may. */
  #moved: StoreFault | null = null;
  /** Whether a transaction failed because of a full disk, and no ping has found free space since. */
  #wasFull = false;
  /** Since when another process has held the write lock; null if none is known to. */
  #busySinceMs: number | null = null;

  constructor(options: FileOptions, clock: SteadyClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** @throws Fault `store_failed` as {@link openFile} */
  open(): void {
    this.#connect();
  }

  close(): void {
    this.#place = null;
    this.#moved = null;
    this.#closeConnection();
  }

  /** How often the clock of the host was set back. */
  get clockBacksteps(): number {
    return this.#clock.backsteps;
  }

  /** Runs operations that read. Each sees one state of the file. */
  read(operations: readonly Operation[]): Outcome[] {
    return operations.map(operation => this.#readOne(operation));
  }

  /** Runs operations that write, in order and in one transaction. */
  write(operations: readonly Operation[]): Outcome[] {
    for (;;) {
      const outcomes = this.tryWrite(operations);
      if (outcomes !== null) return outcomes;
    }
  }

  /**
   * Like `write`, but returns null if another process holds the write lock. Nothing was done then; try again. After the
   * busy timeout the operations fail, and later ones fail at once until the lock is free.
   */
  tryWrite(operations: readonly Operation[]): Outcome[] | null {
    const startMs = performance.now();
    const isPing = operations.some(({ name }) => name === 'ping');
    try {
      if (isPing) this.#moved = this.#place?.moved() ?? null;
      if (this.#moved !== null) throw this.#moved;
      const outcomes = this.#transact(operations);
      this.#busySinceMs = null;
      return isPing && this.#isFull() ? this.#withoutRoom(operations, outcomes) : outcomes;
    } catch (failure) {
      if (isBusy(failure)) {
        this.#busySinceMs ??= startMs;
        if (performance.now() - this.#busySinceMs < this.#options.busyTimeoutMs) return null;
      } else this.#busySinceMs = null;
      const fault = this.#failed(failure);
      if (operations.length === 1 || isEnvironmental(failure)) return operations.map(() => fault);
      return operations.flatMap(operation => this.write([operation]));
    }
  }

  /** On a full disk, small transactions may still succeed in space that failed ones have allocated. */
  #isFull(): boolean {
    this.#wasFull &&= !hasRoom(this.#options.path);
    return this.#wasFull;
  }

  #withoutRoom(operations: readonly Operation[], outcomes: readonly Outcome[]): Outcome[] {
    const { path } = this.#options;
    const fault = new StoreFault('disk_full', `task store ${path}: the disk is full: free some space`);
    return outcomes.map((outcome, i) =>
      operations[i].name === 'ping' && outcome.ok ? { ok: false, fault } : outcome,
    );
  }

  #readOne(operation: Operation): Outcome {
    const giveUpMs = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      try {
        return { ok: true, answer: this.#readOnce(operation) };
      } catch (failure) {
        // Another process is closing the file, or recovers it after a crash.
        if (!isBusy(failure) || performance.now() >= giveUpMs) return this.#failed(failure);
      }
    }
  }

  #readOnce(operation: Operation): unknown {
    const { statements, numbers } = this.#connect();
    statements.run('BEGIN');
    try {
      numbers.refresh();
      const view = { statements, numbers, now: this.#clock.nowMs() };
      const answer = isRead(operation) ? read(view, operation) : undefined;
      statements.run('COMMIT');
      return answer;
    } catch (failure) {
      this.#rollBack(statements.db);
      throw failure;
    }
  }

  #transact(operations: readonly Operation[]): Outcome[] {
    const { statements, numbers } = this.#connect();
    statements.run('BEGIN IMMEDIATE');
    try {
      numbers.refresh();
      const work = new Work(statements, numbers, this.#timeOfWrite(statements));
      const outcomes = operations.map<Outcome>(operation => ({ ok: true, answer: write(work, operation) }));
      work.flush();
      statements.run('COMMIT');
      this.#boundWal(statements.db);
      return outcomes;
    } catch (failure) {
      numbers.forget();
      // Until a transaction succeeds, each one writes the time, so that each shows whether the file can be written.
      this.#clockKeptMs = Number.NEGATIVE_INFINITY;
      this.#rollBack(statements.db);
      throw failure;
    }
  }

  /** Stores the time in the file, so that other processes and later runs continue from it. */
  #timeOfWrite(statements: Statements): number {
    const now = this.#clock.nowMs();
    if (now - this.#clockKeptMs < CLOCK_KEPT_MS) return now;
    const [at] = statements.one(KEEP_CLOCK, now)!;
    this.#clock.notBefore(at as number);
    this.#clockKeptMs = at as number;
    return at as number;
  }

  /** SQLite itself rolls back after some errors. A connection that cannot roll back is closed. */
  #rollBack(db: DatabaseSync): void {
    try {
      db.exec('ROLLBACK');
    } catch (failure) {
      if (!/no transaction is active/.test(asError(failure).message)) this.#disconnect();
    }
  }

  #connect(): { readonly statements: Statements; readonly numbers: Numbers } {
    if (this.#connection === null) {
      // If the file is missing, SQLite would create a new, empty one.
      const moved = this.#place?.fileMoved() ?? null;
      if (moved !== null) throw moved;
      const db = openFile(this.#options);
      db.exec(`PRAGMA busy_timeout = ${Math.min(this.#options.busyTimeoutMs, BUSY_SLICE_MS)}`);
      this.#place = new FilePlace(this.#options.path);
      const statements = new Statements(db);
      const [at] = statements.one(KEPT_CLOCK)!;
      this.#clock.notBefore(at as number);
      this.#connection = { statements, numbers: new Numbers(statements) };
    }
    return this.#connection;
  }

  #failed(failure: unknown): Extract<Outcome, { ok: false }> {
    if (asksForNewConnection(failure)) this.#disconnect();
    const fault = storeFault(failure, this.#options.path);
    if (fault instanceof StoreFault && fault.trouble === 'disk_full') this.#wasFull = true;
    return { ok: false, fault };
  }

  #closeConnection(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.statements.db.close();
  }

  #disconnect(): void {
    try {
      this.#closeConnection();
    } catch {
      // The connection is dropped because of an error, so an error of closing it does not matter.
    }
  }

  /** An error here must not fail the transaction, which is committed. It will show at the next write. */
  #boundWal(db: DatabaseSync): void {
    if (++this.#transactions % WAL_LOOKED_AT !== 0) return;
    try {
      boundWal(db, this.#options);
    } catch {
      // The next check tries again.
    }
  }
}
