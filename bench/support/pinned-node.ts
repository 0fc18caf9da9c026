import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../test/support/repository.ts';

/** The oldest version that the service runs on, where there is no packaged one. */
const OLDEST = 22;

/** Path of the Node.js that the packages bring: what is measured runs on what the service runs on. */
export function pinnedNode(): string {
  const path = join(repositoryRoot(), 'node_modules', '.bin', 'node');
  if (existsSync(path)) return path;
  // There is no packaged Node.js for every platform.
  if (Number.parseInt(process.versions.node, 10) >= OLDEST) return process.execPath;
  throw new Error(
    `there is no ${path}, and this is Node.js ${process.version}: run npm install, or run this on Node.js ${OLDEST} or newer`,
  );
}
