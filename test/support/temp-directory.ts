import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The one method needed of a tap test. */
export interface Teardown {
  teardown(run: () => void): void;
}

/**
 * Makes an empty directory for the test `t` and removes it, with all that is in it, when `t` ends.
 * It lies in `parent`, without one where the system keeps temporary files.
 */
export function tempDirectory(t: Teardown, parent = tmpdir()): string {
  const directory = makeTempDirectory(parent);
  t.teardown(() => removeDirectory(directory));
  return directory;
}

/** Makes an empty directory; the caller removes it. The path is short, so that a unix socket fits in it. */
export function makeTempDirectory(parent = tmpdir()): string {
  return mkdtempSync(join(realpathSync(parent), 'sluice-'));
}

/** Removes a directory and all that is in it; one that is gone already is fine. */
export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
