import { STATUS } from '../../codes.ts';
import type { Numbers } from '../file/numbers.ts';
import type { Row, Statements } from '../file/statements.ts';

/** The context of operations that read: one state of the file, at one time. */
export interface View {
  readonly statements: Statements;
  readonly numbers: Numbers;
  /** Milliseconds since the epoch, the same for all operations of a group. */
  readonly now: number;
}

/**
 * The context of operations that write: one transaction for a group of operations. The rows of tenants and workers, which
 * every operation changes, are read once and written once.
 */
export class Work implements View {
  readonly statements: Statements;
  readonly numbers: Numbers;
  readonly now: number;
  readonly #tenants = new Map<string, TenantTotals>();
  readonly #workers = new Map<number, WorkerTotals>();
  /** By number of the worker: whether it has a document. */
  readonly #documented = new Map<number, boolean>();

  constructor(statements: Statements, numbers: Numbers, now: number) {
    this.statements = statements;
    this.numbers = numbers;
    this.now = now;
  }

  /** Null if nothing is stored for this tenant. */
  findTenant(name: string): TenantTotals | null {
    const kept = this.#tenants.get(name);
    if (kept !== undefined) return kept;
    const number = this.numbers.ofTenant(name);
    return number === null ? null : this.#keepTenant(name, number);
  }

  /** The row of a tenant; created if it is missing. */
  tenant(name: string): TenantTotals {
    return this.findTenant(name) ?? this.#keepTenant(name, this.numbers.addTenant(name));
  }

  #keepTenant(name: string, number: number): TenantTotals {
    const totals = readTenant(this.statements, number);
    this.#tenants.set(name, totals);
    return totals;
  }

  findWorker(tenant: TenantTotals, id: string): WorkerTotals | null {
    const number = this.numbers.ofWorker(tenant.number, id);
    return number === null ? null : this.workerOf(number);
  }

  worker(tenant: TenantTotals, id: string): WorkerTotals {
    return this.findWorker(tenant, id) ?? this.workerOf(this.numbers.addWorker(tenant.number, id));
  }

  workerOf(number: number): WorkerTotals {
    let totals = this.#workers.get(number);
    if (totals === undefined) {
      totals = readWorker(this.statements, number);
      this.#workers.set(number, totals);
    }
    return totals;
  }

  /** The result of `look` for the worker, cached until documents change. */
  isDocumented(worker: WorkerTotals, look: () => boolean): boolean {
    let documented = this.#documented.get(worker.number);
    if (documented === undefined) {
      documented = look();
      this.#documented.set(worker.number, documented);
    }
    return documented;
  }

  documentsChanged(): void {
    this.#documented.clear();
  }

  /** Writes the changed rows of tenants and workers. */
  flush(): void {
    for (const totals of this.#tenants.values()) {
      if (totals.changed) writeTenant(this.statements, totals);
      totals.changed = false;
    }
    for (const totals of this.#workers.values()) {
      if (totals.changed) writeWorker(this.statements, totals);
      totals.changed = false;
    }
  }

  /**
   * Call this after changing these rows with other statements, with {@link flush} before. The rows are read again.
   *
   * @param isFreed whether rows of tenants or workers were deleted, so that their numbers can be reused
   */
  rowsChanged(isFreed: boolean): void {
    this.#tenants.clear();
    this.#workers.clear();
    this.#documented.clear();
    if (isFreed) this.numbers.freed();
  }

  /** Runs an operation that may have to be undone: rolls back the changes of `run` unless `keep` returns true. */
  undoable<T>(run: () => T, keep: (answer: T) => boolean): T {
    this.flush();
    this.statements.run('SAVEPOINT operation');
    const answer = run();
    if (!keep(answer)) {
      this.statements.run('ROLLBACK TO operation');
      this.#tenants.clear();
      this.#workers.clear();
      this.#documented.clear();
      this.numbers.forget();
    }
    this.statements.run('RELEASE operation');
    return answer;
  }
}

const COUNT_COLUMNS = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'];
const COUNTS = COUNT_COLUMNS.join(', ');
const SET_COUNTS = COUNT_COLUMNS.map(column => `${column} = ?`).join(', ');

/** A bucket of starts. `tokens` is null until it is first used. */
export interface Bucket {
  tokens: number | null;
  at: number | null;
}

/** The row of a tenant during a transaction. */
export interface TenantTotals {
  readonly number: number;
  readonly bucket: Bucket;
  /** Number of tasks by status. */
  readonly counts: number[];
  changed: boolean;
}

/** The row of a worker during a transaction. */
export interface WorkerTotals extends TenantTotals {
  throttledUntil: number | null;
  wakeAt: number | null;
}

export function readTenant(statements: Statements, number: number): TenantTotals {
  const sql = `SELECT tokens, bucket_at, ${COUNTS} FROM tenant WHERE no = ?`;
  const row = statements.one(sql, number) as Row;
  const bucket = { tokens: row[0] as number | null, at: row[1] as number | null };
  return { number, bucket, counts: row.slice(2) as number[], changed: false };
}

export function readWorker(statements: Statements, number: number): WorkerTotals {
  const sql = `SELECT tokens, bucket_at, throttled_until, wake_at, ${COUNTS} FROM worker WHERE no = ?`;
  const row = statements.one(sql, number) as Row;
  return {
    number,
    bucket: { tokens: row[0] as number | null, at: row[1] as number | null },
    throttledUntil: row[2] as number | null,
    wakeAt: row[3] as number | null,
    counts: row.slice(4) as number[],
    changed: false,
  };
}

function writeTenant(statements: Statements, { number, bucket, counts }: TenantTotals): void {
  const sql = `UPDATE tenant SET tokens = ?, bucket_at = ?, ${SET_COUNTS} WHERE no = ?`;
  statements.run(sql, bucket.tokens, bucket.at, ...counts, number);
}

function writeWorker(statements: Statements, totals: WorkerTotals): void {
  const sql = `UPDATE worker SET tokens = ?, bucket_at = ?, throttled_until = ?, wake_at = ?, ${SET_COUNTS} WHERE no = ?`;
  const { number, bucket, throttledUntil, wakeAt, counts } = totals;
  statements.run(sql, bucket.tokens, bucket.at, throttledUntil, wakeAt, ...counts, number);
}

/** Number of tasks that are not final. */
export function openTasks({ counts }: TenantTotals): number {
  return counts[STATUS.scheduled] + counts[STATUS.running] + counts[STATUS.retry] + counts[STATUS.paused];
}
