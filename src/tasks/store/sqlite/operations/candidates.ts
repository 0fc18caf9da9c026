import { BAND_PENALTIES_MS, PRIORITIES } from '../../../model/task.ts';
import { LIMIT } from '../file/statements.ts';
import type { WorkerTotals } from '../rows/totals.ts';
import type { Work } from '../rows/work.ts';

/** Everything that they name is in the index, but for the status, which the index has by its own condition. */
const WAITING = `FROM task INDEXED BY task_due WHERE worker = ? AND band = ? AND status IN (0, 2) AND grp IS NULL`;
const UNEXPIRED = '(expires_at IS NULL OR expires_at > ?)';
const DUE = `SELECT seq, due_at, id ${WAITING} AND due_at <= ? AND ${UNEXPIRED} ORDER BY due_at, id ${LIMIT}`;
const NEXT_DUE = `SELECT due_at ${WAITING} AND due_at IS NOT NULL AND ${UNEXPIRED} ORDER BY due_at LIMIT 1`;

export const PENALTIES = PRIORITIES.map(priority => BAND_PENALTIES_MS[priority]);

/** A task that a claim may start. */
export interface Candidate {
  readonly seq: number;
  readonly id: string;
  /** Due time and penalty. */
  readonly place: number;
  readonly group: string | null;
}

/** Due tasks without a group, at most `max` of each band. */
export function dueTasks({ statements, now }: Work, { number }: WorkerTotals, max: number): Candidate[] {
  const found: Candidate[] = [];
  for (let band = 0; band < PENALTIES.length; band++) {
    for (const [seq, dueAt, id] of statements.all(DUE, number, band, now, now, max)) {
      const place = (dueAt as number) + PENALTIES[band];
      found.push({ seq: seq as number, id: id as string, place, group: null });
    }
  }
  return found;
}

/** Returns at most `max` candidates, in the order in which they start. */
export function inOrder(found: Candidate[], max: number): readonly Candidate[] {
  found.sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
  return found.length > max ? found.slice(0, max) : found;
}

/** When the first of the worker's waiting tasks without a group is due; null when none waits. */
export function nextDue({ statements, now }: Work, { number }: WorkerTotals): number | null {
  let earliest: number | null = null;
  for (let band = 0; band < PENALTIES.length; band++) {
    const row = statements.one(NEXT_DUE, number, band, now);
    if (row !== undefined && (earliest === null || (row[0] as number) < earliest))
      earliest = row[0] as number;
  }
  return earliest;
}
