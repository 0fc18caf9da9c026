import type { DatabaseSync } from 'node:sqlite';
import { isBusy, storeFault } from './failure.ts';
import { nodeSqlite } from './open-file.ts';
import { MIGRATIONS, pragma, refused, refuseForeign } from './schema.ts';

/**
 * Checks that no process has an existing file open.
 *
 * @param mayConvert false if the file must have the layout of this version, so that opening it changes nothing
 * @throws Fault `store_failed` that says what to do
 */
export function refuseUnlessIdle(path: string, mayConvert: boolean): void {
  let db: DatabaseSync | null = null;
  try {
    db = new (nodeSqlite().DatabaseSync)(path);
    // With this mode, SQLite takes a lock that excludes every other connection, even one that does nothing.
    db.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = exclusive');
    refuseForeign(db, path);
    const layout = pragma(db, 'user_version');
    if (layout < MIGRATIONS.length && !mayConvert) {
      const text = `its layout is ${layout}, this version has ${MIGRATIONS.length}`;
      throw refused(path, `${text}; start this version of the service on it once, which converts it`);
    }
  } catch (failure) {
    if (!isBusy(failure)) throw storeFault(failure, path);
    throw refused(path, 'another process uses it; stop all processes of the service', 'file_locked');
  } finally {
    db?.close();
  }
}
