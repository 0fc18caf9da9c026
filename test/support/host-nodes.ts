import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository.ts';

/** A Node.js that hosts have, other than the packaged one. */
export interface HostNode {
  readonly version: string;
  readonly path: string;
  /** The reason why its tests are skipped, where it is not there; else false. */
  readonly missing: string | false;
}

/** Those that `npm test` brings. */
export const HOST_NODES: readonly HostNode[] = ['22.13.0', '24.21.0', '26.10.0'].map(version => {
  const path = join(repositoryRoot(), 'node_modules/.cache/host-nodes', version);
  const reason = `Node.js ${version} is not there: npm test installs it where npm reaches the package for this platform`;
  return { version, path, missing: existsSync(path) ? false : reason };
});
