import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { holdWhileRunning } from './lock.mjs';
import { isNodeSettled, noNode, pinnedNode } from './pinned-node.mjs';
import { root, run } from './step.mjs';

/**
 * Installs the packages of package-lock.json that `what` (`serving` or `tests`) needs, unless they are installed. For
 * `serving`, development dependencies are omitted.
 */
export async function installPackages(what) {
  if (!arePackagesInstalled(what)) await install('.', what, 'installing packages (npm ci)');
  if (pinnedNode() === undefined) throw noNode();
}

/** True if `node_modules` contains what {@link installPackages} installs, and its Node.js is not damaged. */
export function arePackagesInstalled(what) {
  return isInstalled('.', what) && isNodeSettled();
}

/** Installs PM2. It has a lock file of its own, because only the tests of its ecosystem file need it. */
export async function installPm2() {
  if (!isPm2Installed()) await install('ops/pm2', 'tests', 'installing PM2 for its tests (npm ci)');
}

export function isPm2Installed() {
  return isInstalled('ops/pm2', 'tests');
}

/** Installs the generator of the client's types. It has a lock file of its own, because it needs another TypeScript. */
export async function installTypesGenerator() {
  if (!isTypesGeneratorInstalled())
    await install('clients/typescript', 'tests', 'installing the generator of the client (npm ci)');
}

export function isTypesGeneratorInstalled() {
  return isInstalled('clients/typescript', 'tests');
}

/** Installs the frameworks whose adapters are tested. They have a lock file of their own, because only these tests need them. */
export async function installFrameworks() {
  if (!areFrameworksInstalled())
    await install('clients/limit', 'tests', 'installing frameworks for tests of their adapters (npm ci)');
}

export function areFrameworksInstalled() {
  return isInstalled('clients/limit', 'tests');
}

async function install(folder, what, doing) {
  const npm = npmCommand();
  await run({
    doing,
    ...npm,
    // npm continues if this process is killed, and another npm must not install at the same time.
    started: holdWhileRunning,
    args: [
      ...npm.args,
      'ci',
      `--prefix=${join(root, folder)}`,
      '--no-audit',
      '--no-fund',
      // Explicit, because NODE_ENV or the configuration of npm may change the default.
      what === 'tests' ? '--include=dev' : '--omit=dev',
      '--include=optional',
      // No package needs install scripts, so they are disabled.
      '--ignore-scripts',
      // On hosts with a Node.js older than 22, npm warns about packages that run only on the pinned Node.js.
      '--loglevel=error',
    ],
    advice:
      'See the output of npm above. The packages come from the npm registry, so this needs the network or a filled ' +
      'npm cache, and about a gigabyte of disk. "npm ci --loglevel=verbose" shows every step.',
  });
}

/**
 * True if the packages that the lock file lists for `what` are in npm's record of installed packages, and every package
 * of the record exists. npm writes the record last, so an interrupted installation does not count, but one with `npm
 * ci` does.
 */
function isInstalled(folder, what) {
  const present = lockedPackages(join(folder, 'node_modules/.package-lock.json'));
  if (present === undefined) return false;
  const wanted = lockedPackages(join(folder, 'package-lock.json')) ?? {};
  delete wanted[''];
  // npm does not install optional packages for other platforms.
  const isMet = ([path, { version, integrity, optional, dev }]) =>
    path in present
      ? present[path].version === version && present[path].integrity === integrity
      : optional === true || (dev === true && what === 'serving');
  const isThere = path => path in wanted && existsSync(join(root, folder, path, 'package.json'));
  return Object.entries(wanted).every(isMet) && Object.keys(present).every(isThere);
}

/** Returns the packages that a lock file lists; undefined if the file is missing or incomplete. */
function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** Returns the npm that runs this script, otherwise the npm on the PATH. */
export function npmCommand() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  if (script !== undefined && basename(script) === 'npm-cli.js' && existsSync(script)) {
    // The pinned Node.js, which may run this script, is in the folder that npm replaces.
    return { command: node !== undefined && existsSync(node) ? node : process.execPath, args: [script] };
  }
  return { command: 'npm', args: [], shell: process.platform === 'win32' };
}
