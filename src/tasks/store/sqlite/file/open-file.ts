import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type * as Sqlite from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { isBusy, storeFault } from './failure.ts';
import { migrate, pragma, refused, refuseForeign } from './schema.ts';

export interface FileOptions {
  /** On a local disk: WAL needs memory that processes share. Several processes of one host may use one file. */
  readonly path: string;
  /**
   * `full`: what was acknowledged survives a loss of power. `normal`: it survives the end of the process, while a loss
   * of power may take the last commits.
   */
  readonly synchronous: 'full' | 'normal';
  /** How long to wait for another process that writes. */
  readonly busyTimeoutMs: number;
}

/**
 * Kibibytes of pages that a connection keeps. The system keeps more of them, and a commit that has split a page walks
 * over all that are here.
 */
const CACHE_KIB = 16 * 1024;
/** Pages in the WAL after which they are copied into the file: 16 MiB, so that hot pages are copied once for many commits. */
const CHECKPOINT_PAGES = 4_000;
/** What is left of the WAL after a checkpoint that has emptied it. */
const KEPT_WAL_BYTES = 64 * 1024 * 1024;
/** Up to this size a file is looked through at the start; a larger one would take too long. */
const CHECKED_BYTES = 16 * 1024 * 1024;
const MAGIC = 'SQLite format 3\0';

/**
 * Opens the file, or makes it, and brings its layout up to date.
 *
 * @throws Fault `store_failed` that says what is wrong with the file and what to do
 */
export function openFile(options: FileOptions): DatabaseSync {
  const { path } = options;
  let db: DatabaseSync | null = null;
  try {
    checkHead(path);
    db = new (nodeSqlite().DatabaseSync)(path);
    db.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
    refuseForeign(db, path);
    useWal(db, path, options.busyTimeoutMs);
    db.exec(`PRAGMA synchronous = ${options.synchronous}; PRAGMA temp_store = memory;
      PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${KEPT_WAL_BYTES}`);
    migrate(db, path);
    checkWritable(db);
    checkWhole(db, path);
    return db;
  } catch (failure) {
    db?.close();
    throw storeFault(failure, path);
  }
}

/** SQLite would take some files that are no database for empty ones. */
function checkHead(path: string): void {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw refused(path, `it cannot be opened (${code}): see the path, and the rights on it`);
  }
  try {
    const head = Buffer.alloc(MAGIC.length);
    const length = readSync(file, head, 0, head.length, 0);
    if (length > 0 && head.toString('latin1') !== MAGIC)
      throw refused(path, 'it is no SQLite database', 'file_damaged');
  } finally {
    closeSync(file);
  }
}

function useWal(db: DatabaseSync, path: string, patienceMs: number): void {
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    try {
      const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = wal').get() as {
        journal_mode: string;
      };
      if (mode === 'wal') return;
      throw refused(path, 'its file system does not support a WAL; put it on a local disk');
    } catch (failure) {
      // SQLite does not wait here by itself while another process makes the file.
      if (!isBusy(failure) || performance.now() > giveUpAt) throw failure;
      pause(10);
    }
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A file that can only be read, or is on a full disk, would be found out at the first write. */
function checkWritable(db: DatabaseSync): void {
  try {
    db.exec('UPDATE clock SET at = at');
  } catch (failure) {
    // Another process is writing, so it can be written.
    if (!isBusy(failure)) throw failure;
  }
}

/**
 * Finds damages. That pages are missing at the end, as of a copy that broke, SQLite has seen by then. To find every other
 * damage takes reading all of it, which is done for small files only; of others the ends of each table are looked at.
 */
function checkWhole(db: DatabaseSync, path: string): void {
  if (pragma(db, 'page_count') * pragma(db, 'page_size') > CHECKED_BYTES) {
    readEnds(db);
    return;
  }
  const { quick_check: found } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
  if (found !== 'ok')
    throw refused(path, `it is damaged (${found}); restore it from a backup`, 'file_damaged');
}

function readEnds(db: DatabaseSync): void {
  for (const table of ['tenant', 'worker', 'task', 'body', 'doc', 'idem']) {
    db.prepare(`SELECT * FROM ${table} ORDER BY rowid LIMIT 1`).get();
    db.prepare(`SELECT * FROM ${table} ORDER BY rowid DESC LIMIT 1`).get();
  }
  for (const order of ['ASC', 'DESC']) db.prepare(`SELECT * FROM event ORDER BY seq ${order} LIMIT 1`).get();
}

let loaded: typeof Sqlite | null = null;

/**
 * The module of the runtime. It says with a warning that it is experimental, once for each thread: that is not for the
 * operators of this program, so this one warning is left out, and no other.
 */
export function nodeSqlite(): typeof Sqlite {
  loaded ??= withoutItsWarning(() => process.getBuiltinModule('node:sqlite'));
  return loaded;
}

/** The warning comes while the module is loaded, which happens within `load`. */
function withoutItsWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && /SQLite/.test(String(warning))) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

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
