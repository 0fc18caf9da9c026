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

/** Errors with causes outside of the program: the name of the trouble and what to do about it. */
const KNOWN: Readonly<Record<number, readonly [trouble: TroubleName, advice: string]>> = {
  [PRIMARY.busy]: ['file_locked', 'another process holds the write lock for too long'],
  [PRIMARY.noMemory]: ['other', 'out of memory'],
  [PRIMARY.readOnly]: [
    'file_read_only',
    'the file cannot be written: check its owner, its mode and how the file system is mounted',
  ],
  [PRIMARY.io]: ['file_failed', 'reading or writing the file failed: check the system log'],
  [PRIMARY.corrupt]: ['file_damaged', 'the file is damaged: restore it from a backup'],
  [PRIMARY.full]: ['disk_full', 'the disk is full: free some space'],
  [PRIMARY.cannotOpen]: [
    'file_failed',
    'the file cannot be opened: check the path, the permissions of its directory and how its file system is mounted',
  ],
  [PRIMARY.notADatabase]: ['file_damaged', 'the file is not an SQLite database'],
};

/** With less free space than this, an I/O error counts as a full disk. */
const LEAST_ROOM_BYTES = 256 * 1024;

/** After these errors the connection is closed, because its knowledge of the file may be outdated. */
const REOPENED: readonly number[] = [
  PRIMARY.readOnly,
  PRIMARY.io,
  PRIMARY.corrupt,
  PRIMARY.cannotOpen,
  PRIMARY.notADatabase,
];

/** The primary result code; null if the error is not from SQLite. */
function primaryCode(thrown: unknown): number | null {
  const code = (thrown as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether the cause is outside of the program. All operations then fail for now, and may succeed later. */
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

/** The fault for callers. Error texts of SQLite contain names of tables and columns, but no values. */
export function storeFault(thrown: unknown, path: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const error = asError(thrown);
  const code = primaryCode(error) ?? -1;
  // SQLite reports a full disk only for writes. If it cannot create a file or extend shared memory, it reports other codes.
  const isFull = (code === PRIMARY.io || code === PRIMARY.cannotOpen) && !hasRoom(path);
  const [trouble, advice] = KNOWN[isFull ? PRIMARY.full : code] ?? ['other', null];
  const text = advice === null ? error.message : `${advice} (${error.message})`;
  return new StoreFault(trouble, `task store ${path}: ${text}`, { cause: error });
}

/**
 * Whether the file system has free space for a few transactions. True if that is not known, and for file systems without
 * space, such as /proc.
 */
export function hasRoom(path: string): boolean {
  try {
    const { blocks, bavail, bsize } = statfsSync(dirname(path));
    return blocks === 0 || bavail * bsize >= LEAST_ROOM_BYTES;
  } catch {
    return true;
  }
}

/** The identity of the file at a path: device and inode; null if there is no file. */
interface Place {
  readonly path: string;
  readonly identity: string | null;
}

/**
 * Remembers which file was opened. SQLite continues to write to a file that was moved or deleted, and the next start would
 * not find this data. Therefore the opened file is compared with the file at its path.
 */
export class FilePlace {
  readonly #path: string;
  /** The file and its WAL. */
  readonly #opened: readonly Place[];

  /** Create it right after opening the file. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = [path, `${path}-wal`].map(each => ({ path: each, identity: identityOf(each) }));
  }

  /** The fault if the file or its WAL was moved; null otherwise. */
  moved(): StoreFault | null {
    return this.#firstMoved(this.#opened);
  }

  /** The fault if the file was moved; null otherwise. Ignores the WAL, which SQLite deletes with the last connection. */
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
        `task store ${this.#path}: ${path} ${what} while in use, so nothing is written: move it back, or restart the ` +
          'service to use the file at this path',
      );
    }
    return null;
  }
}

/** Null if there is no file. Uses bigints, because inodes can exceed the safe integers. */
function identityOf(path: string): string | null {
  let status: BigIntStats | undefined;
  try {
    status = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    // The directory cannot be read, so the file is not known to be there.
    return null;
  }
  return status === undefined ? null : `${status.dev}:${status.ino}`;
}
