import { recentlyUsed } from '../../../../base/collections/recently-used.ts';
import type { Statements } from './statements.ts';

const MAX_KEPT = 20_000;

const FREED = 'SELECT freed FROM numbering WHERE no = 1';
const COUNT_FREED = 'UPDATE numbering SET freed = freed + 1 WHERE no = 1';

/**
 * Cache of the numbers of tenants and workers. They change only when a tenant is deleted. Another process may do that, so
 * each transaction begins with {@link refresh}. After a failed transaction, call {@link forget}.
 */
export class Numbers {
  readonly #statements: Statements;
  readonly #tenantNumbers = recentlyUsed<string, number>(MAX_KEPT);
  readonly #tenantNames = recentlyUsed<number, string>(MAX_KEPT);
  readonly #workerNumbers = recentlyUsed<string, number>(MAX_KEPT);
  readonly #workerIds = recentlyUsed<number, string>(MAX_KEPT);

  #freed = 0;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Clears the cache if numbers were freed since the last call. Call it in the transaction that uses the numbers. */
  refresh(): void {
    const [freed] = this.#statements.one(FREED)!;
    if (freed !== this.#freed) this.forget();
    this.#freed = freed as number;
  }

  /** Records that rows of tenants or workers were deleted in this transaction. */
  freed(): void {
    this.#statements.run(COUNT_FREED);
    this.forget();
  }

  /** Null if nothing is stored for this tenant. */
  ofTenant(name: string): number | null {
    const kept = this.#tenantNumbers.get(name);
    if (kept !== undefined) return kept;
    const row = this.#statements.one('SELECT no FROM tenant WHERE name = ?', name);
    if (row === undefined) return null;
    this.#tenantNumbers.set(name, row[0] as number);
    return row[0] as number;
  }

  tenantName(number: number): string {
    let name = this.#tenantNames.get(number);
    if (name === undefined) {
      name = this.#statements.one('SELECT name FROM tenant WHERE no = ?', number)![0] as string;
      this.#tenantNames.set(number, name);
    }
    return name;
  }

  ofWorker(tenant: number, id: string): number | null {
    const key = `${tenant} ${id}`;
    const kept = this.#workerNumbers.get(key);
    if (kept !== undefined) return kept;
    const row = this.#statements.one('SELECT no FROM worker WHERE tenant = ? AND id = ?', tenant, id);
    if (row === undefined) return null;
    this.#workerNumbers.set(key, row[0] as number);
    return row[0] as number;
  }

  workerId(number: number): string {
    let id = this.#workerIds.get(number);
    if (id === undefined) {
      id = this.#statements.one('SELECT id FROM worker WHERE no = ?', number)![0] as string;
      this.#workerIds.set(number, id);
    }
    return id;
  }

  addTenant(name: string): number {
    return this.#statements.run('INSERT INTO tenant (name) VALUES (?)', name).lastInsertRowid;
  }

  addWorker(tenant: number, id: string): number {
    return this.#statements.run('INSERT INTO worker (tenant, id) VALUES (?, ?)', tenant, id).lastInsertRowid;
  }

  forget(): void {
    this.#tenantNumbers.clear();
    this.#tenantNames.clear();
    this.#workerNumbers.clear();
    this.#workerIds.clear();
  }
}
