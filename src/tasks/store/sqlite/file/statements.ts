import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Values of the columns of a row, in the order of the statement. */
export type Row = readonly SQLOutputValue[];

/** `setReturnArrays` was added in Node.js 22.16. The Node.js of a host may be older. */
type Prepared = StatementSync & { setReturnArrays?(enabled: boolean): void };

/** A connection, and every statement that was prepared on it. Which statements there are is bounded by the code. */
export class Statements {
  readonly db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** The first row; undefined for none. */
  one(sql: string, ...values: SQLInputValue[]): Row | undefined {
    const row = this.prepare(sql).get(...values);
    return row === undefined ? undefined : valuesOf(row);
  }

  all(sql: string, ...values: SQLInputValue[]): readonly Row[] {
    const rows: readonly object[] = this.prepare(sql).all(...values);
    return areArrays(rows) ? rows : rows.map(valuesOf);
  }

  /**
   * Iterates over the rows, so a caller that stops early does not read the rest. Do not run this statement again
   * meanwhile.
   */
  each(sql: string, ...values: SQLInputValue[]): IterableIterator<Row> {
    return this.prepare(sql).iterate(...values) as unknown as IterableIterator<Row>;
  }

  run(
    sql: string,
    ...values: SQLInputValue[]
  ): { readonly changes: number; readonly lastInsertRowid: number } {
    return this.prepare(sql).run(...values) as { changes: number; lastInsertRowid: number };
  }

  prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      // Objects of rows would have no prototype, and be slow for that.
      (statement as Prepared).setReturnArrays?.(true);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** Without `setReturnArrays`, rows are objects, so the columns need distinct names. */
function valuesOf(row: object): Row {
  return (Array.isArray(row) ? row : Object.values(row)) as Row;
}

function areArrays(rows: readonly object[]): rows is readonly Row[] {
  return rows.length === 0 || Array.isArray(rows[0]);
}

/**
 * For the last parameter of a statement. A sum, because SQLite looks at the value of a parameter alone, and would plan
 * the statement anew for each.
 */
export const LIMIT = 'LIMIT ? + 0';
