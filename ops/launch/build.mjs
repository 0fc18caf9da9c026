import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from './pinned-node.mjs';
import { root, run, scriptOf } from './step.mjs';

/**
 * The two builds, the smaller one first. The build for serving leaves out tests, benchmarks and type checking, so that
 * it takes about a second. Both write to `build`, and the build for tests includes the files of the build for serving.
 *
 * Node.js could run the sources directly, but each thread would load the module that strips types, which takes 60 MB of
 * memory and a quarter of a second at every start. The compiler removes comments, because each thread keeps the text of
 * its modules in memory.
 */
const BUILDS = {
  serving: {
    project: 'tsconfig.build.json',
    mode: '--project',
    folders: ['src', 'workers', 'pages'],
    settings: [],
    mark: 'build/.serving',
  },
  // Pages have a project of their own, because their types are those of browsers, and the clients have one each, because
  // they run on older versions of Node.js.
  tests: {
    project: 'tsconfig.json',
    mode: '--build',
    folders: [
      'src',
      'workers',
      'pages',
      'bench',
      'test',
      'examples',
      'clients/typescript/src',
      'clients/limit/src',
    ],
    settings: ['clients/typescript/tsconfig.json', 'clients/limit/tsconfig.json'],
    mark: 'build/.tests',
  },
};

/** What the compiler remembers of the last build for tests. */
const COMPILER_RECORDS = [
  'build/.tsbuildinfo',
  'build/.pages.tsbuildinfo',
  'build/.clients.tsbuildinfo',
  'build/.limit.tsbuildinfo',
];

/** Path of the built program's entry. */
export const builtMain = join(root, 'build/src/cli/main.js');

/**
 * Folder in which Node.js keeps the machine code of modules, so that later starts need not compile them. It is not in
 * the folder for temporary files, where other users of the host could replace the code.
 */
export const compiledCode = join(root, 'build/.code');

/** Folder of the entries that import the test files of a group. */
export const testGroups = 'build/test-groups';

/** True if `build` contains everything that `what` (`serving` or `tests`) needs, built from the current sources. */
export function isBuilt(what) {
  const { folders, mark } = BUILDS[what];
  if (!existsSync(inRoot(mark)) || readFileSync(inRoot(mark), 'utf8') !== fingerprint(what)) return false;
  return hasOutputs(folders);
}

/** Compiles the sources that `what` needs into `build`, unless it {@link isBuilt}. */
export async function buildSources(what) {
  if (isBuilt(what)) return;
  const { project, mode, folders, mark } = BUILDS[what];
  // Computed before the compiler reads the files, so that a file that changes meanwhile is compiled next time.
  const current = fingerprint(what);
  const served = fingerprint('serving');
  // The marks of both builds are removed, because this build overwrites files of the other.
  for (const build of Object.values(BUILDS)) rmSync(inRoot(build.mark), { force: true });
  // If it has records, the compiler writes only files that have changed since then, and assumes that the other files
  // still exist. The build for serving does not update the records.
  if (what === 'serving' || !hasOutputs(folders)) {
    for (const record of COMPILER_RECORDS) rmSync(inRoot(record), { force: true });
  }
  await run({
    doing: 'compiling (tsc)',
    command: pinnedNode(),
    args: [scriptOf('typescript', 'tsc'), mode, project],
    advice: 'The errors are listed above. Fix them and try again.',
  });
  for (const folder of folders) removeOrphans(folder);
  for (const folder of [inRoot(testGroups), compiledCode]) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    } catch {
      // Processes that still run the previous build add files meanwhile. What is left does no harm.
    }
  }
  mkdirSync(inRoot('build'), { recursive: true });
  writeFileSync(inRoot(BUILDS.serving.mark), served);
  writeFileSync(inRoot(mark), current);
}

/** Returns a digest of all files that a build depends on. It ignores modification times, which a checkout changes. */
function fingerprint(what) {
  const hash = createHash('sha256');
  const { folders, settings } = BUILDS[what];
  const files = folders.flatMap(folder => filesIn(folder)).sort();
  const projects = Object.values(BUILDS).map(build => build.project);
  for (const file of [...projects, ...settings, 'package-lock.json', ...files]) {
    const text = readFileSync(inRoot(file));
    hash.update(`${file}\0${text.length}\0`).update(text);
  }
  return hash.digest('hex');
}

/** True if every source has its compiled file in `build`. */
function hasOutputs(folders) {
  const sources = folders.flatMap(folder => filesIn(folder)).filter(file => /(?<!\.d)\.tsx?$/.test(file));
  return sources.every(file => existsSync(inRoot(join('build', file.replace(/\.tsx?$/, '.js')))));
}

/** Removes compiled files whose source no longer exists, so that deleted tests do not run. */
function removeOrphans(folder) {
  for (const file of filesIn(join('build', folder))) {
    const compiled = /\.(?:js(?:\.map)?|d\.ts)$/;
    const source = file.slice('build/'.length).replace(compiled, '');
    if (compiled.test(file) && !['.ts', '.tsx'].some(ending => existsSync(inRoot(source + ending))))
      rmSync(inRoot(file));
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
