import { accessSync, constants, linkSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { repositoryRoot } from './repository.ts';
import { type Teardown, tempDirectory } from './temp-directory.ts';

/**
 * Path of a Node.js that is not the packaged one, as that of a host is not: the first on the PATH, else the packaged
 * program at another place, which is foreign to the launcher all the same.
 */
export function hostNode(t: Teardown): string {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    if (isExecutable(path) && realpathSync(path) !== realpathSync(process.execPath)) return path;
  }
  // In `build`, since a hard link cannot leave its file system.
  const node = join(tempDirectory(t, join(repositoryRoot(), 'build')), 'node');
  linkSync(process.execPath, node);
  return node;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
