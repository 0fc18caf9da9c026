import type { DatabaseSync } from 'node:sqlite';
import { asError, type Fault } from '../../../../base/fault.ts';
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
import { isRead, type Operation, read, write } from '../operations/operations.ts';
import { Work } from '../rows/work.ts';

/** What came of an operation. */
export type Outcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly fault: Fault };

/** How often the time of the store is written to the file, with what is written anyway. */
const CLOCK_KEPT_MS = 5_000;
const KEEP_CLOCK = 'UPDATE clock SET at = max(at, ?) WHERE no = 1 RETURNING at';
const KEPT_CLOCK = 'SELECT at FROM clock WHERE no = 1';

/** After so many transactions its size is looked at. */
const WAL_LOOKED_AT = 64;

/** How long SQLite itself waits for another process that writes: those that read are served in between. */
const BUSY_SLICE_MS = 25;

/**
 * The store in one thread, on one connection, synchronous. What writes is done in groups, each in one transaction. So
 * nothing is answered before it is on the disk, and the disk is waited for once for many.
 *
 * An operation that fails by itself takes the group back, whose operations are then done one by one. Where the file
 * cannot be written all of the group fail, with nothing of it done, and the next group tries again.
 */
export class SqliteEngine {
  readonly #options: FileOptions;
  readonly #clock: SteadyClock;
  #connection: { readonly statements: Statements; readonly numbers: Numbers } | null = null;
  #transactions = 0;
  #clockKeptMs = Number.NEGATIVE_INFINITY;
  /** Where the file was when it was opened; null before. */
  #place: FilePlace | null = null;
  /** Why nothing may be written, as the last ping has found; null for nothing. */
  #moved: StoreFault | null = null;
  /** Whether a transaction found no room, and no ping has found any since. */
  #wasFull = false;
  /** Since when another process has held the write lock; null while it is not known to. */
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

  /** What only reads: each sees one state of the file. */
  read(operations: readonly Operation[]): Outcome[] {
    return operations.map(operation => this.#readOne(operation));
  }

  /** All of them in one transaction, in order. */
  write(operations: readonly Operation[]): Outcome[] {
    for (;;) {
      const outcomes = this.tryWrite(operations);
      if (outcomes !== null) return outcomes;
    }
  }

  /**
   * The same; null after a short wait for another process that holds the write lock, with nothing done: they are to be
   * tried again. They fail once it has held the lock for too long, and then at once until it lets somebody write.
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

  /** Small transactions may still go well on a full disk, in what failed ones had allocated. */
  #isFull(): boolean {
    this.#wasFull &&= !hasRoom(this.#options.path);
    return this.#wasFull;
  }

  #withoutRoom(operations: readonly Operation[], outcomes: readonly Outcome[]): Outcome[] {
    const { path } = this.#options;
    const fault = new StoreFault('disk_full', `task store ${path}: the disk is full: make room`);
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
        // Another process is about to close the file, or repairs what one that died has left.
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
      // Until a transaction succeeds, each one tries to write the time, so that each shows whether the file takes it.
      this.#clockKeptMs = Number.NEGATIVE_INFINITY;
      this.#rollBack(statements.db);
      throw failure;
    }
  }

  /** Keeps the time in the file, so that other processes and later runs continue from there. */
  #timeOfWrite(statements: Statements): number {
    const now = this.#clock.nowMs();
    if (now - this.#clockKeptMs < CLOCK_KEPT_MS) return now;
    const [at] = statements.one(KEEP_CLOCK, now)!;
    this.#clock.notBefore(at as number);
    this.#clockKeptMs = at as number;
    return at as number;
  }

  /** After some failures SQLite has done so by itself. A connection that cannot do it is given up. */
  #rollBack(db: DatabaseSync): void {
    try {
      db.exec('ROLLBACK');
    } catch (failure) {
      if (!/no transaction is active/.test(asError(failure).message)) this.#disconnect();
    }
  }

  #connect(): { readonly statements: Statements; readonly numbers: Numbers } {
    if (this.#connection === null) {
      // SQLite would make a new, empty file where the one that was in use is gone.
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
      // It is given up because it fails; that it cannot be closed either changes nothing.
    }
  }

  /** What was committed is done, whatever becomes of the WAL: what is wrong with that shows when it is written next. */
  #boundWal(db: DatabaseSync): void {
    if (++this.#transactions % WAL_LOOKED_AT !== 0) return;
    try {
      boundWal(db, this.#options);
    } catch {
      // It is tried again with the next look.
    }
  }
}
