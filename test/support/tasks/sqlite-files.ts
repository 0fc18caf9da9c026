import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeTempDirectory, removeDirectory, type Teardown } from '../temp-directory.ts';

/** Where files are kept in memory, if there is such a place: waiting for the disk would be most of a test. */
const inMemory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A directory for the files of a store; the caller removes it. */
export function storeDirectory(): string {
  return makeTempDirectory(inMemory);
}

/** The path of a file that is not there yet, and goes with the test. */
export function storePath(t: Teardown): string {
  const directory = storeDirectory();
  t.teardown(() => removeDirectory(directory));
  return join(directory, 'tasks.db');
}
