import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { holdWhileRunning } from './lock.mjs';
import { isNodeSettled, noNode, pinnedNode } from './pinned-node.mjs';
import { root, run } from './step.mjs';

/**
 * Installs the packages of package-lock.json that `what` (`serving` or `tests`) needs, unless they are installed.
 * Serving leaves out those that only development and tests need.
 */
export async function installPackages(what) {
  if (!arePackagesInstalled(what)) await install('.', what, 'installing packages (npm ci)');
  if (pinnedNode() === undefined) throw noNode();
}

/** True when `node_modules` has what {@link installPackages} installs, and its Node.js runs if this system can run it. */
export function arePackagesInstalled(what) {
  return isInstalled('.', what) && isNodeSettled();
}

/** Installs PM2, which has a lock file of its own because only the tests of its ecosystem file start it. */
export async function installPm2() {
  if (!isPm2Installed()) await install('ops/pm2', 'tests', 'installing PM2 for its tests (npm ci)');
}

export function isPm2Installed() {
  return isInstalled('ops/pm2', 'tests');
}

async function install(folder, what, doing) {
  const npm = npmCommand();
  await run({
    doing,
    ...npm,
    // npm goes on when this process is killed; another one must not install beside it.
    started: holdWhileRunning,
    args: [
      ...npm.args,
      'ci',
      `--prefix=${join(root, folder)}`,
      '--no-audit',
      '--no-fund',
      // Said explicitly, because NODE_ENV or a setting of npm may say otherwise.
      what === 'tests' ? '--include=dev' : '--omit=dev',
      '--include=optional',
      // No package here needs its install scripts, so none gets to run them.
      '--ignore-scripts',
      // On a host older than Node.js 22 npm warns about packages that only ever run on the pinned one.
      '--loglevel=error',
    ],
    advice:
      'What npm said stands above. The packages come from the npm registry, so this needs the network or a filled ' +
      'npm cache, and about a gigabyte of disk. "npm ci --loglevel=verbose" shows every step.',
  });
}

/**
 * True when npm's own record of what it installed has what the lock file lists for `what`, and every package of the
 * record is there. npm writes the record last, so an interrupted installation does not count, and one made by hand with
 * `npm ci` does.
 */
function isInstalled(folder, what) {
  const present = lockedPackages(join(folder, 'node_modules/.package-lock.json'));
  if (present === undefined) return false;
  const wanted = lockedPackages(join(folder, 'package-lock.json')) ?? {};
  delete wanted[''];
  // npm leaves out optional packages that are for other platforms.
  const isMet = ([path, { version, integrity, optional, dev }]) =>
    path in present
      ? present[path].version === version && present[path].integrity === integrity
      : optional === true || (dev === true && what === 'serving');
  const isThere = path => path in wanted && existsSync(join(root, folder, path, 'package.json'));
  return Object.entries(wanted).every(isMet) && Object.keys(present).every(isThere);
}

/** The packages that a lock file lists; undefined when it is missing, or was cut off while it was written. */
function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** The npm that runs this script, else the one on the PATH. */
export function npmCommand() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  if (script !== undefined && basename(script) === 'npm-cli.js' && existsSync(script)) {
    // The pinned Node.js, which may run this script, lies in the folder that npm replaces.
    return { command: node !== undefined && existsSync(node) ? node : process.execPath, args: [script] };
  }
  return { command: 'npm', args: [], shell: process.platform === 'win32' };
}
