import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode } from '../fault.ts';

const OWNER_ONLY = 0o700;

/** Codes of a `mkdir` in an existing directory whose file system creates directories itself, such as /proc and /sys. */
const VIRTUAL = new Set(['ENOENT', 'EPERM', 'ENOSYS', 'EOPNOTSUPP']);

/**
 * Creates a directory and the missing ones above it, accessible only to their owner, whatever the umask is. Does nothing if
 * the directory exists.
 *
 * `mkdir` of Node.js with `recursive` is not used: below /proc, it never returns.
 *
 * @throws Error that says why the directory cannot be created, and at which place of the path
 */
export function makeDirectory(path: string): void {
  for (const missing of missingOf(resolve(path))) makeOne(missing);
}

/** The directories that do not exist, from the outermost one. */
function missingOf(path: string): string[] {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const found = look(at);
    if (found === null) missing.unshift(at);
    else if (found.isDirectory()) return missing;
    else throw new Error(`${at} is not a directory (ENOTDIR)`);
  }
}

function look(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (failure) {
    throw new Error(`this user cannot access ${path} (${systemCode(failure)})`, { cause: failure });
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, OWNER_ONLY);
    chmodSync(path, OWNER_ONLY);
  } catch (failure) {
    const code = systemCode(failure);
    // Another process has created it meanwhile.
    if (code === 'EEXIST' && look(path)?.isDirectory() === true) return;
    throw new Error(reasonOf(code, dirname(path)), { cause: failure });
  }
}

/** @param parent the existing directory in which the next one was to be created */
function reasonOf(code: string, parent: string): string {
  if (code === 'EACCES') return `this user has no permission in ${parent} (EACCES)`;
  if (code === 'EROFS') return `${parent} is on a file system that is mounted read-only (EROFS)`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return `the file system of ${parent} is full (${code})`;
  if (VIRTUAL.has(code)) return `the file system of ${parent} accepts no new directories (${code})`;
  return `${code} in ${parent}`;
}
