import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pragma } from './migrate.ts';
import type { FileOptions } from './open-file.ts';

/** From here on the WAL is emptied even if those who read have to be waited for. */
const MAX_WAL_BYTES = 128 * 1024 * 1024;

/** How long readers of other processes are waited for then. */
const PATIENCE_MS = 500;

/**
 * SQLite copies the WAL into the file by itself, but begins it anew only in a moment in which nobody reads. Where others
 * read all the time it would grow without bound. A reader that does not end in time is left alone until the next look.
 */
export function boundWal(
  db: DatabaseSync,
  { path }: Pick<FileOptions, 'path'>,
  { maxBytes = MAX_WAL_BYTES, patienceMs = PATIENCE_MS } = {},
): void {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  const usualMs = pragma(db, 'busy_timeout');
  db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
  try {
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  } finally {
    db.exec(`PRAGMA busy_timeout = ${usualMs}`);
  }
}
