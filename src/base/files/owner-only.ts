import { chmodSync, closeSync, fchmodSync, openSync, statSync } from 'node:fs';
import { systemCode } from '../fault.ts';
import type { Logger } from '../logger.ts';

/** Readable and writable by the owner of a file only. */
export const OWNER_ONLY = 0o600;

/** Permissions of the group and of others. */
const OTHERS = 0o077;

/** A file that others could read or write. Plain data. */
export interface OpenToOthers {
  readonly path: string;
  /** The mode that the file had, in octal digits, such as `644`. */
  readonly mode: string;
  /** Why the mode could not be changed, which only the owner of the file may do; null if it was. */
  readonly failure: string | null;
}

/**
 * Creates an empty file with mode 0600, whatever the umask is, if there is no file. A failure is left to the caller, which
 * opens the file and has the better message.
 */
export function createForOwner(path: string): void {
  try {
    const file = openSync(path, 'wx', OWNER_ONLY);
    try {
      fchmodSync(file, OWNER_ONLY);
    } finally {
      closeSync(file);
    }
  } catch {
    // The file exists, or it cannot be created.
  }
}

/**
 * Sets the mode of files to 0600 if others have permissions. Uses paths only: closing a descriptor of a file would release
 * the locks that SQLite has in this process.
 *
 * @returns the files that others could use. Missing files, and those that are not regular files, are left out
 */
export function restrictToOwner(paths: readonly string[]): readonly OpenToOthers[] {
  // Windows has no such bits.
  if (process.platform === 'win32') return [];
  return paths.flatMap(path => restrictOne(path) ?? []);
}

function restrictOne(path: string): OpenToOthers | null {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined || !status.isFile() || (status.mode & OTHERS) === 0) return null;
    const mode = (status.mode & 0o777).toString(8);
    try {
      chmodSync(path, OWNER_ONLY);
      return { path, mode, failure: null };
    } catch (failure) {
      return { path, mode, failure: systemCode(failure) };
    }
  } catch {
    // Opening the file reports why it cannot be accessed.
    return null;
  }
}

/** Logs one line about files that others could use; nothing without such files. */
export function logOpenToOthers(logger: Logger, files: readonly OpenToOthers[]): void {
  const open = files.filter(({ failure }) => failure !== null);
  const [shown, message] =
    open.length > 0
      ? [open, 'Other users may be able to read a file, and its mode cannot be changed; set it to 0600']
      : [files, 'The mode of a file gave other users access and was changed to 0600'];
  if (shown.length === 0) return;
  logger.warning(message, {
    path: shown.map(({ path }) => path).join(', '),
    mode: shown.map(({ mode }) => mode).join(', '),
    ...(open.length > 0 && { error: open[0].failure ?? '' }),
  });
}
