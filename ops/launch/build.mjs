import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from './pinned-node.mjs';
import { root, run, scriptOf } from './step.mjs';

/**
 * The two builds, the smaller first. The build for serving leaves out tests, benchmarks and the check of types, so that
 * a first start takes about a second here. Both write to `build`, so what one has built the other need not.
 *
 * The sources are compiled, although Node.js could run them as they are: that costs 60 MB of memory and a quarter of a
 * second at every start, because each thread loads the module that removes the types.
 */
const BUILDS = {
  serving: { project: 'tsconfig.build.json', folders: ['src', 'workers'], mark: 'build/.serving' },
  tests: { project: 'tsconfig.json', folders: ['src', 'workers', 'bench', 'test'], mark: 'build/.tests' },
};

/** Path of the built program's entry. */
export const builtMain = join(root, 'build/src/cli/main.js');

/** True when `build` holds all that `what` (`serving` or `tests`) needs, made from exactly the sources of now. */
export function isBuilt(what) {
  const { folders, mark } = BUILDS[what];
  if (!existsSync(inRoot(mark)) || readFileSync(inRoot(mark), 'utf8') !== fingerprint(folders)) return false;
  return hasOutputs(folders);
}

/** Compiles the sources that `what` needs into `build`, unless it {@link isBuilt}. */
export async function buildSources(what) {
  if (isBuilt(what)) return;
  const { project, folders, mark } = BUILDS[what];
  // Taken before the compiler reads, so that a file changed meanwhile is compiled next time.
  const current = fingerprint(folders);
  const served = fingerprint(BUILDS.serving.folders);
  // Of both: what the other was built from is overwritten.
  for (const build of Object.values(BUILDS)) rmSync(inRoot(build.mark), { force: true });
  // With its record the compiler writes only files that have changed since it wrote that record, and assumes that all
  // others are as it left them. The build for serving keeps no record.
  if (what === 'serving' || !hasOutputs(folders)) rmSync(inRoot('build/.tsbuildinfo'), { force: true });
  await run({
    doing: 'compiling (tsc)',
    command: pinnedNode(),
    args: [scriptOf('typescript', 'tsc'), '--project', project],
    advice: 'The faults stand above, by file and line. Fix them and try again.',
  });
  for (const folder of folders) removeOrphans(folder);
  mkdirSync(inRoot('build'), { recursive: true });
  writeFileSync(inRoot(BUILDS.serving.mark), served);
  writeFileSync(inRoot(mark), current);
}

/** A digest of all that a build depends on. Contents and not times: a checkout changes times for nothing. */
function fingerprint(folders) {
  const hash = createHash('sha256');
  const files = folders.flatMap(folder => filesIn(folder)).sort();
  const settings = Object.values(BUILDS).map(build => build.project);
  for (const file of [...settings, 'package-lock.json', ...files]) {
    const text = readFileSync(inRoot(file));
    hash.update(`${file}\0${text.length}\0`).update(text);
  }
  return hash.digest('hex');
}

/** True when every source has its file in `build`. */
function hasOutputs(folders) {
  const sources = folders.flatMap(folder => filesIn(folder)).filter(file => /(?<!\.d)\.ts$/.test(file));
  return sources.every(file => existsSync(inRoot(join('build', file.replace(/\.ts$/, '.js')))));
}

/** Removes what was built from a source that is gone: a test that was deleted must not run on. */
function removeOrphans(folder) {
  for (const file of filesIn(join('build', folder))) {
    const source = file.slice('build/'.length).replace(/\.js(\.map)?$/, '.ts');
    if (/\.js(\.map)?$/.test(file) && !existsSync(inRoot(source))) rmSync(inRoot(file));
  }
}

function filesIn(folder) {
  if (!existsSync(inRoot(folder))) return [];
  return readdirSync(inRoot(folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : [];
  });
}

function inRoot(path) {
  return join(root, path);
}
