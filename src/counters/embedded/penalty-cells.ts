import type { Penalty, PenaltyTerms } from '../admission/penalty.ts';
import type { CellPrint } from './cell.ts';
import { type CounterTable, LEAST_PROTECTED } from './counter-table.ts';

/**
 * How cells of a table hold the violations and the penalty of a key: beside the cell of its counter, in the same region, so
 * that one lock protects both.
 *
 *     expiry    the second in which the state is forgotten
 *     count     2^52 + 2^42 × violations + 2^32 × penalties + the second in which the last violated window ends
 *     extra     1 + the second in which the last penalty ends
 *
 * With such a count, a full table evicts counters first, as long as penalties are at most half of the cells. A client that
 * is penalized cannot undo this with a flood of keys, and a flood of penalized keys leaves room for counters.
 */
const VIOLATION = 2 ** 42;
const PENALTY = 2 ** 32;
const LAST_SECOND = 0xffff_ffff;

/** The fingerprint of the penalty of the key with a fingerprint. The first word selects the region. */
export function penaltyPrint({ a, b, c }: CellPrint): CellPrint {
  return { a, b: b ^ 0x3c6e_f372, c: c ^ 0x1b87_3593 };
}

/** Whether a cell holds a penalty. Counts of sliding windows, which have a positive extra number as well, are smaller. */
export function isPenalty({ count, extra }: { readonly count: number; readonly extra: number }): boolean {
  return extra > 0 && count >= LEAST_PROTECTED;
}

/** Reads the state of a cell; the state without violations if the cell is -1. */
export function readPenalty(table: CounterTable, cell: number, penalty: Penalty): void {
  if (cell < 0) {
    penalty.set(0, 0, 0, 0);
    return;
  }
  const packed = table.count(cell) - LEAST_PROTECTED;
  const violations = Math.floor(packed / VIOLATION);
  const penalties = Math.floor(packed / PENALTY) - violations * (VIOLATION / PENALTY);
  const closesS = packed - Math.floor(packed / PENALTY) * PENALTY;
  penalty.set(violations, penalties, closesS, table.extra(cell) - 1);
}

/**
 * Writes a state into the cell of a print from {@link penaltyPrint}. Does nothing if there is no room for it.
 * @param kept see `CounterTable.claim`
 */
export function writePenalty(
  table: CounterTable,
  { print, nowS, kept }: { readonly print: CellPrint; readonly nowS: number; readonly kept: number[] },
  penalty: Penalty,
  terms: PenaltyTerms,
): void {
  const { violations, penalties, closesS, untilS } = penalty;
  const expiryS = Math.min(penalty.forgottenS(terms), LAST_SECOND);
  const cell = table.claim(print, nowS, expiryS, kept);
  if (cell < 0) return;
  const count =
    LEAST_PROTECTED + VIOLATION * violations + PENALTY * penalties + Math.min(closesS, LAST_SECOND);
  table.write(cell, expiryS, count, 1 + Math.min(untilS, LAST_SECOND));
}
