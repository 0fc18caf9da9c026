import type { DatabaseSync } from 'node:sqlite';
import type { Fault } from '../../../../base/fault.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';
import { APPLICATION_ID, MIGRATIONS } from './schema.ts';

/**
 * Brings the layout of the file up to date. Each step is a transaction of its own, and looks again at what there is
 * once it has the write lock: several processes may start at once.
 *
 * @throws Fault `store_failed` when the file belongs to another program or to a newer version of this one
 */
export function migrate(db: DatabaseSync, path: string, migrations: readonly string[] = MIGRATIONS): void {
  for (;;) {
    const layout = layoutOf(db, path, migrations.length);
    if (layout === migrations.length) return;
    db.exec('BEGIN IMMEDIATE');
    try {
      if (layoutOf(db, path, migrations.length) === layout) {
        db.exec(migrations[layout]);
        db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${layout + 1}`);
      }
      db.exec('COMMIT');
    } catch (failure) {
      db.exec('ROLLBACK');
      throw failure;
    }
  }
}

/**
 * To be called before anything is written.
 * @throws Fault `store_failed` as {@link migrate}
 */
export function refuseForeign(db: DatabaseSync, path: string): void {
  layoutOf(db, path, MIGRATIONS.length);
}

/** The number of the layout, 0 for an empty file. */
function layoutOf(db: DatabaseSync, path: string, newest: number): number {
  const layout = pragma(db, 'user_version');
  const application = pragma(db, 'application_id');
  if (application !== APPLICATION_ID) {
    const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
    if (application === 0 && layout === 0 && tables.n === 0) return 0;
    throw refused(path, 'it is the database of another program; name another file');
  }
  if (layout > newest) {
    const text = `its layout is ${layout}, this version knows layouts up to ${newest}; run the version that wrote it`;
    throw refused(path, text);
  }
  return layout;
}

export function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, number>;
  return Object.values(row)[0];
}

/** What keeps a file from being opened. */
export function refused(path: string, reason: string, trouble: TroubleName = 'file_failed'): Fault {
  return new StoreFault(trouble, `task store ${path} is not opened: ${reason}`);
}
