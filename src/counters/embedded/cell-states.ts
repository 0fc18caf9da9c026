import type { SlidingWindow } from '../admission/sliding-window.ts';
import type { TokenBucket } from '../admission/token-bucket.ts';
import type { CellPrint, StoredCounter } from './cell.ts';
import type { CounterTable } from './counter-table.ts';
import { isPenalty } from './penalty-cells.ts';

/**
 * How the cells of a table hold sliding windows and token buckets. The sign of the extra number says which one it is.
 * `penalty-cells.ts` says how they hold penalties.
 *
 *                    expiry                       count                          extra
 *     plain count    end of the window            hits                           0
 *     sliding window end of the window after the  hits of the previous and of    1 + hits of the previous window
 *                    current one                  the current window
 *     token bucket   the second after the moment  hits that were taken, rounded  -(1 + milliseconds of the moment
 *                    when it is full again        up, when it was last changed   + 1000 × rest)
 *
 * The counts are comparable, so that a full table evicts the counter with the fewest hits, whatever its kind.
 */
const LAST_SECOND = 0xffff_ffff;

/** Reads the state of a cell; the state of an unused window if the cell is -1 or holds something else. */
export function readWindow(table: CounterTable, cell: number, window: SlidingWindow, windowS: number): void {
  const extra = cell < 0 ? 0 : table.extra(cell);
  if (extra <= 0) window.set(0, 0, 0);
  else window.set(table.expiryS(cell) - 2 * windowS, extra - 1, table.count(cell) - (extra - 1));
}

/** Reads the state of a cell; the state of an unused bucket if the cell is -1 or holds something else. */
export function readBucket(table: CounterTable, cell: number, bucket: TokenBucket): void {
  const extra = cell < 0 ? 0 : table.extra(cell);
  if (extra >= 0) bucket.set(0, 0);
  else bucket.set(fullMsOf(table.expiryS(cell), extra), restOf(extra));
}

/** The second in which the cell of a window expires. */
export function expiryOfWindow(window: SlidingWindow, windowS: number): number {
  return Math.min(window.startS + 2 * windowS, LAST_SECOND);
}

/** The second in which the cell of a bucket expires. */
export function expiryOfBucket(bucket: TokenBucket): number {
  return Math.min(Math.floor(bucket.fullMs / 1_000) + 1, LAST_SECOND);
}

export function extraOfWindow(window: SlidingWindow): number {
  return 1 + window.previous;
}

export function extraOfBucket(bucket: TokenBucket): number {
  return -(1 + millisecondsOf(bucket.fullMs) + 1_000 * bucket.rest);
}

/**
 * Adds a counter of another table to the cell of its key. The region must be locked, and the counter must be alive.
 * The hits of a bucket that exists in both are added with the precision of a millisecond.
 */
export function mergeCounter(
  table: CounterTable,
  print: CellPrint,
  stored: StoredCounter,
  nowMs: number,
): void {
  const nowS = Math.floor(nowMs / 1_000);
  if (stored.extra === 0) {
    table.add(table.claim(print, nowS, stored.expiryS), stored.count);
    return;
  }
  const cell = table.find(print, nowS);
  if (cell < 0) {
    const { expiryS, count, extra } = stored;
    table.write(table.claim(print, nowS, expiryS), expiryS, count, extra);
  } else if (isPenalty(stored)) mergePenalty(table, cell, stored);
  else if (stored.extra > 0) mergeWindow(table, cell, stored);
  else mergeBucket(table, cell, stored, nowMs);
}

/** The state that is forgotten later is the newer one. */
function mergePenalty(table: CounterTable, cell: number, { expiryS, count, extra }: StoredCounter): void {
  if (expiryS > table.expiryS(cell)) table.write(cell, expiryS, count, extra);
}

/** Windows of one key have the same length, so those that differ are neighbors. */
function mergeWindow(table: CounterTable, cell: number, stored: StoredCounter): void {
  const [expiryS, count, extra] = [table.expiryS(cell), table.count(cell), table.extra(cell)];
  if (extra <= 0) return;
  const current = count - (extra - 1);
  const storedCurrent = stored.count - (stored.extra - 1);
  if (stored.expiryS === expiryS) table.write(cell, expiryS, count + stored.count, extra + stored.extra - 1);
  else if (stored.expiryS < expiryS) table.write(cell, expiryS, count + storedCurrent, extra + storedCurrent);
  else table.write(cell, stored.expiryS, stored.count + current, stored.extra + current);
}

function mergeBucket(table: CounterTable, cell: number, stored: StoredCounter, nowMs: number): void {
  const extra = table.extra(cell);
  if (extra >= 0) return;
  const fullMs = roundedFullMs(table.expiryS(cell), extra);
  const sum = fullMs + Math.max(roundedFullMs(stored.expiryS, stored.extra) - nowMs, 0);
  const expiryS = Math.min(Math.floor(sum / 1_000) + 1, LAST_SECOND);
  table.write(cell, expiryS, table.count(cell) + stored.count, -(1 + millisecondsOf(sum)));
}

function fullMsOf(expiryS: number, extra: number): number {
  return (expiryS - 1) * 1_000 + millisecondsOf(-1 - extra);
}

function restOf(extra: number): number {
  return Math.floor((-1 - extra) / 1_000);
}

/** What is left of a time when its whole seconds are taken away: faster than `%`. */
function millisecondsOf(ms: number): number {
  return ms - Math.floor(ms / 1_000) * 1_000;
}

/** The moment when a bucket is full, rounded up to milliseconds. */
function roundedFullMs(expiryS: number, extra: number): number {
  return fullMsOf(expiryS, extra) + (restOf(extra) > 0 ? 1 : 0);
}
