import type { TaskRow } from './task-row.ts';
import type { Work } from './work.ts';

const HOLDER = 'SELECT seq, free_at FROM task_key WHERE worker = ? AND key = ?';
const TAKE = `INSERT INTO task_key (worker, key, tenant, seq, free_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (worker, key) DO UPDATE SET seq = excluded.seq, free_at = excluded.free_at`;
const FREE = 'DELETE FROM task_key WHERE worker = ? AND key = ?';
const WAITED_FOR = 'SELECT seq, key, worker FROM task INDEXED BY task_id WHERE tenant = ? AND id = ?';

/** The holder of a key, and when the key becomes free: null while the task is not final. */
export interface KeyHolder {
  readonly seq: number;
  readonly freeAt: number | null;
}

/** Null if the key is free. */
export function keyHolder({ statements, now }: Work, worker: number, key: string): KeyHolder | null {
  const row = statements.one(HOLDER, worker, key);
  if (row === undefined) return null;
  const freeAt = row[1] as number | null;
  return freeAt !== null && freeAt <= now ? null : { seq: row[0] as number, freeAt };
}

export function takeKey(work: Work, row: TaskRow): void {
  if (row.key !== null) holdKey(work, row, row.seq, null);
}

/** Takes the key of a replayed task. Returns false if another task has it. */
export function takeKeyAgain(work: Work, row: TaskRow): boolean {
  if (row.key === null) return true;
  const holder = keyHolder(work, row.worker, row.key);
  if (holder !== null && holder.seq !== row.seq) return false;
  takeKey(work, row);
  return true;
}

/**
 * Releases the key of a task. If the task was held by one with the same key, the key returns to that task. Otherwise it
 * becomes free at `freeAt`, or at once if that is null.
 *
 * @param heldBy id of the task that held this one; null for none
 */
export function leaveKey(work: Work, row: TaskRow, heldBy: string | null, freeAt: number | null): void {
  const { key, worker, seq } = row;
  if (key === null) return;
  const { statements } = work;
  if (statements.one(HOLDER, worker, key)?.[0] !== seq) return;
  const other = heldBy === null ? undefined : statements.one(WAITED_FOR, row.tenant, heldBy);
  if (other !== undefined && other[1] === key && other[2] === worker) {
    holdKey(work, row, other[0] as number, null);
  } else if (freeAt === null || freeAt <= work.now) {
    statements.run(FREE, worker, key);
  } else {
    holdKey(work, row, seq, freeAt);
  }
}

/** @param freeAt null while the holder is not final */
export function holdKey(
  { statements }: Work,
  { worker, key, tenant }: TaskRow,
  seq: number,
  freeAt: number | null,
): void {
  statements.run(TAKE, worker, key, tenant, seq, freeAt);
}
