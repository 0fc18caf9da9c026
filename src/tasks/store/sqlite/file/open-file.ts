import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type * as Sqlite from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { createForOwner, type OpenToOthers, restrictToOwner } from '../../../../base/files/owner-only.ts';
import { isBusy, storeFault } from './failure.ts';
import { migrate, pragma, refused, refuseForeign } from './schema.ts';

export interface FileOptions {
  /** Must be on a local disk, because a WAL needs shared memory. Several processes of one host may use one file. */
  readonly path: string;
  /**
   * `full`: acknowledged writes survive a power failure. `normal`: they survive a crash of the process, but a power failure
   * can lose the last commits.
   */
  readonly synchronous: 'full' | 'normal';
  /** Timeout of waiting for another process that writes. */
  readonly busyTimeoutMs: number;
  /** Whether no other process may open the file meanwhile. */
  readonly isAlone: boolean;
}

/**
 * Page cache of a connection in KiB. A larger cache slows down commits that split a page, because these walk over all
 * cached pages. The operating system caches further pages.
 */
const CACHE_KIB = 16 * 1024;
/** Number of pages in the WAL that triggers a checkpoint: 16 MiB, so that hot pages are copied once for many commits. */
const CHECKPOINT_PAGES = 4_000;
/** Maximum size of the WAL file after a complete checkpoint. */
const KEPT_WAL_BYTES = 64 * 1024 * 1024;
/** Files up to this size are checked completely at startup. For larger ones, that would take too long. */
const CHECKED_BYTES = 16 * 1024 * 1024;
/** If the WAL is larger than this, it is truncated even if that must wait for readers. */
const MAX_WAL_BYTES = 128 * 1024 * 1024;
/** Maximum time to wait for readers of other processes. */
const PATIENCE_MS = 500;
const MAGIC = 'SQLite format 3\0';

/**
 * Opens or creates the file and migrates its layout.
 *
 * @throws Fault `store_failed` that says what is wrong with the file and what to do
 */
export function openFile(options: FileOptions): DatabaseSync {
  const { path } = options;
  let db: DatabaseSync | null = null;
  try {
    // SQLite gives the WAL and the shared memory the mode of the file.
    createForOwner(path);
    checkHead(path);
    db = new (nodeSqlite().DatabaseSync)(path);
    db.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
    if (options.isAlone) db.exec('PRAGMA locking_mode = exclusive');
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

/**
 * Sets the mode of the file, the WAL and the shared memory to 0600, for files of earlier versions and restored backups. Call
 * it after the file was opened, so that it is known to belong to this program.
 */
export function restrictFile({ path }: Pick<FileOptions, 'path'>): readonly OpenToOthers[] {
  return restrictToOwner([path, `${path}-wal`, `${path}-shm`]);
}

/** SQLite would treat some files that are not databases as empty ones. */
function checkHead(path: string): void {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw refused(path, `it cannot be opened (${code}): check the path and its permissions`);
  }
  try {
    const head = Buffer.alloc(MAGIC.length);
    const length = readSync(file, head, 0, head.length, 0);
    if (length > 0 && head.toString('latin1') !== MAGIC)
      throw refused(path, 'it is not an SQLite database', 'file_damaged');
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
      // Here, SQLite itself does not wait while another process creates the file.
      if (!isBusy(failure) || performance.now() > giveUpAt) throw failure;
      pause(10);
    }
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Fails at startup, instead of at the first write, if the file is read-only or the disk is full. */
function checkWritable(db: DatabaseSync): void {
  try {
    db.exec('UPDATE clock SET at = at');
  } catch (failure) {
    // Another process is writing, so the file is writable.
    if (!isBusy(failure)) throw failure;
  }
}

/**
 * Detects damage. SQLite has already detected missing pages at the end, for example of an incomplete copy. All other
 * damage can only be found by reading the whole file, which is done for small files. For others, the first and the last
 * row of each table are read.
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
 * The SQLite module of Node.js. Each thread that loads it prints a warning that it is experimental. This warning does not
 * help operators, so it is suppressed; other warnings are not.
 */
export function nodeSqlite(): typeof Sqlite {
  loaded ??= withoutItsWarning(() => process.getBuiltinModule('node:sqlite'));
  return loaded;
}

/** Node.js emits the warning synchronously while it loads the module. */
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

/**
 * Bounds the size of the WAL. SQLite itself copies the WAL into the file, but restarts it only when no process reads. If
 * other processes read all the time, it would grow without limit. If a reader does not finish in time, the next check tries
 * again.
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
