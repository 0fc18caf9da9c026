import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Values of the columns of a row, in the order of the statement. */
export type Row = readonly SQLOutputValue[];

/** A connection, and every statement that was prepared on it. Which statements there are is bounded by the code. */
export class Statements {
  readonly db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** The first row; undefined for none. */
  one(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.prepare(sql).get(...values) as unknown as Row | undefined;
  }

  all(sql: string, ...values: SQLInputValue[]): readonly Row[] {
    return this.prepare(sql).all(...values) as unknown as readonly Row[];
  }

  /** The same one by one: whoever stops has not read the rest. No other row of this statement may be asked for meanwhile. */
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
      (statement as StatementSync & { setReturnArrays(enabled: boolean): void }).setReturnArrays(true);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/**
 * For the last parameter of a statement. A sum, because SQLite looks at the value of a parameter alone, and would plan
 * the statement anew for each.
 */
export const LIMIT = 'LIMIT ? + 0';
