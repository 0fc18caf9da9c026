import type { Numbers } from '../file/numbers.ts';
import type { Statements } from '../file/statements.ts';
import {
  readTenant,
  readWorker,
  type TenantTotals,
  type WorkerTotals,
  writeTenant,
  writeWorker,
} from './totals.ts';

/** What operations that only read are given: all of them see one state of the file, at one time. */
export interface View {
  readonly statements: Statements;
  readonly numbers: Numbers;
  /** Milliseconds since the epoch, the same for all operations of a group. */
  readonly now: number;
}

/**
 * One transaction, in which a group of operations writes. Rows that each operation changes, those of tenants and
 * workers, are read once and written once.
 */
export class Work implements View {
  readonly statements: Statements;
  readonly numbers: Numbers;
  readonly now: number;
  readonly #tenants = new Map<string, TenantTotals>();
  readonly #workers = new Map<number, WorkerTotals>();
  /** By number of the worker: whether there is a document of it. */
  readonly #documented = new Map<number, boolean>();

  constructor(statements: Statements, numbers: Numbers, now: number) {
    this.statements = statements;
    this.numbers = numbers;
    this.now = now;
  }

  /** Null when nothing was ever kept for this tenant. */
  findTenant(name: string): TenantTotals | null {
    const kept = this.#tenants.get(name);
    if (kept !== undefined) return kept;
    const number = this.numbers.ofTenant(name);
    return number === null ? null : this.#keepTenant(name, number);
  }

  /** The same, made when it is not there. */
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

  /** What `look` says about the worker, asked once until documents change. */
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

  /** Writes what is kept here. */
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
   * Rows were changed by other statements than those of {@link flush}, which was called before: they are read again.
   *
   * @param isFreed rows of tenants or workers were removed, so their numbers may stand for others from now on
   */
  rowsChanged(isFreed: boolean): void {
    this.#tenants.clear();
    this.#workers.clear();
    this.#documented.clear();
    if (isFreed) this.numbers.freed();
  }

  /** For operations that find out only half way whether they may happen: takes back what `run` did unless `keep`. */
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
