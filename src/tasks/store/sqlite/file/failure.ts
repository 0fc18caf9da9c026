import { type BigIntStats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { asError, Fault } from '../../../../base/fault.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const PRIMARY = {
  busy: 5,
  noMemory: 7,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** The name and what to do about it, for those that lie outside of the program. */
const KNOWN: Readonly<Record<number, readonly [trouble: TroubleName, advice: string]>> = {
  [PRIMARY.busy]: ['file_locked', 'another process has held the write lock for too long'],
  [PRIMARY.noMemory]: ['other', 'there is no memory left'],
  [PRIMARY.readOnly]: [
    'file_read_only',
    'the file cannot be written: see its owner, its mode and how the file system is mounted',
  ],
  [PRIMARY.io]: ['file_failed', 'reading or writing the file failed: see the log of the system'],
  [PRIMARY.corrupt]: ['file_damaged', 'the file is damaged or torn: restore it from a backup'],
  [PRIMARY.full]: ['disk_full', 'the disk is full: make room'],
  [PRIMARY.cannotOpen]: [
    'file_failed',
    'the file cannot be opened: see the path, and the rights on its directory',
  ],
  [PRIMARY.notADatabase]: ['file_damaged', 'the file is no SQLite database'],
};

/** On a file system with less room than this, a failure that says nothing else is one of a full disk. */
const LEAST_ROOM_BYTES = 256 * 1024;

/** After these the connection is given up, because what it knows of the file may not hold any more. */
const REOPENED: readonly number[] = [
  PRIMARY.readOnly,
  PRIMARY.io,
  PRIMARY.corrupt,
  PRIMARY.cannotOpen,
  PRIMARY.notADatabase,
];

/** The primary result code; null when it is not SQLite that failed. */
function primaryCode(thrown: unknown): number | null {
  const code = (thrown as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether the reason lies outside of the program, so that every operation would fail, and may work again later. */
export function isEnvironmental(thrown: unknown): boolean {
  if (thrown instanceof StoreFault) return true;
  const code = primaryCode(thrown);
  return code !== null && code in KNOWN;
}

export function isBusy(thrown: unknown): boolean {
  return primaryCode(thrown) === PRIMARY.busy;
}

export function asksForNewConnection(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code !== null && REOPENED.includes(code);
}

/** The fault that callers get. Texts of SQLite name tables and columns, never values. */
export function storeFault(thrown: unknown, path: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const error = asError(thrown);
  const code = primaryCode(error) ?? -1;
  // SQLite says so only where it writes; making a second file, or its shared memory longer, fails otherwise.
  const isFull = (code === PRIMARY.io || code === PRIMARY.cannotOpen) && !hasRoom(path);
  const [trouble, advice] = KNOWN[isFull ? PRIMARY.full : code] ?? ['other', null];
  const text = advice === null ? error.message : `${advice} (${error.message})`;
  return new StoreFault(trouble, `task store ${path}: ${text}`, { cause: error });
}

/** Whether the file system of the file has room for a few transactions. True where that is not known. */
export function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize >= LEAST_ROOM_BYTES;
  } catch {
    return true;
  }
}

/** What is at a path: device and inode, null for nothing. */
interface Place {
  readonly path: string;
  readonly identity: string | null;
}

/**
 * Where the file of a connection was when it was opened. SQLite goes on writing to a file that was moved or deleted, and
 * what it writes is not found by the next start. So it is compared with what is at its path.
 */
export class FilePlace {
  readonly #path: string;
  /** Of the file, and of its WAL. */
  readonly #opened: readonly Place[];

  /** To be made right after the file was opened. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = [path, `${path}-wal`].map(each => ({ path: each, identity: identityOf(each) }));
  }

  /** What is wrong; null while the opened file and its WAL are at their paths. */
  moved(): StoreFault | null {
    return this.#firstMoved(this.#opened);
  }

  /** The same of the file alone: its WAL goes with the last connection. */
  fileMoved(): StoreFault | null {
    return this.#firstMoved(this.#opened.slice(0, 1));
  }

  #firstMoved(opened: readonly Place[]): StoreFault | null {
    for (const { path, identity } of opened) {
      const found = identityOf(path);
      if (found === identity) continue;
      const what = found === null ? 'was moved away or deleted' : 'was replaced by another file';
      return new StoreFault(
        'file_moved',
        `task store ${this.#path}: ${path} ${what} while it is in use, so nothing is written: move it back, or restart ` +
          'the service to use what is there now',
      );
    }
    return null;
  }
}

/** Null where there is nothing. Inodes do not fit into a number everywhere. */
function identityOf(path: string): string | null {
  let status: BigIntStats | undefined;
  try {
    status = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    // Its directory cannot be read: what is there is not known to be the file.
    return null;
  }
  return status === undefined ? null : `${status.dev}:${status.ino}`;
}
