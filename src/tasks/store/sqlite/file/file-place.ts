import { type BigIntStats, statSync } from 'node:fs';
import { StoreFault } from '../../trouble.ts';

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
