import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Values of the columns of a row, in the order of the statement. */
export type Row = readonly SQLOutputValue[];

/** `setReturnArrays` was added in Node.js 22.16. The Node.js of a host may be older. */
type Prepared = StatementSync & { setReturnArrays?(enabled: boolean): void };

/** A connection and its prepared statements. Their number is bounded, because the code has a limited number of texts. */
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
      // Rows as objects have no prototype, which makes them slow.
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
 * A limit as the last parameter of a statement. It is a sum because SQLite would otherwise replan the statement for each
 * value of the parameter.
 */
export const LIMIT = 'LIMIT ? + 0';
