import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The version in the package file above this one. Searched upwards, since sources and build lie at different depths.
 *
 * @throws Error when no folder above holds a package file
 */
export function packageVersion(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const text = readIfThere(join(folder, 'package.json'));
    if (text !== null) return String((JSON.parse(text) as { version?: unknown }).version);
  }
  throw new Error(`no package.json in ${import.meta.dirname} or any folder above it: reinstall the package`);
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw failure;
  }
}
