import { execFileSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Teardown, tempDirectory } from './temp-directory.ts';

/** A file system of this size, which goes with the test; null where this process may not mount one. */
export function smallDisk(t: Teardown, size: string): string | null {
  const directory = tempDirectory(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], { stdio: 'ignore' });
  } catch {
    return null;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', directory], { stdio: 'ignore' }));
  return directory;
}

/** Fills the disk, except for so many bytes. Returns the file to remove. */
export function fillDisk(directory: string, left = 0): string {
  const { bavail, bsize } = statfsSync(directory);
  const filler = join(directory, 'filler');
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  return filler;
}
