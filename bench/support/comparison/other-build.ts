import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { Child } from '../../../test/support/child-process.ts';
import { repositoryRoot } from '../../../test/support/repository.ts';
import { BadArguments } from '../options.ts';
import { processTree } from './process-tree.ts';

const LOCK_FILE = 'package-lock.json';
/** The script with which a clone installs its packages and builds itself. */
const BUILD_SCRIPT = 'ops/launch/bootstrap.mjs';
/** Of what a failed build wrote, the error quotes so many lines. */
const QUOTED_LINES = 30;

/** A commit of this repository, built in a folder of its own. */
export interface OtherBuild {
  readonly root: string;
  /** The first digits of the commit. */
  readonly commit: string;
}

/**
 * Returns the hash of the commit that a revision names.
 *
 * @throws BadArguments if `root` is not a clone, or does not have the revision
 */
export function commitOf(revision: string, root = repositoryRoot()): string {
  let top: string;
  try {
    top = git(root, 'rev-parse', '--show-toplevel');
  } catch (failure) {
    const isMissing = (failure as NodeJS.ErrnoException).code === 'ENOENT';
    throw new BadArguments(
      isMissing
        ? '--against needs git, which is not installed'
        : `--against needs a clone with its history, and ${root} is not one: clone the repository with git`,
    );
  }
  // A folder within another repository has only the commits of that one.
  if (realpathSync(top) !== realpathSync(root)) {
    throw new BadArguments(`--against needs a clone with its history, and ${root} belongs to that of ${top}`);
  }
  try {
    return git(root, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`);
  } catch {
    throw new BadArguments(
      `--against ${revision} is not a commit of this clone: name a branch, a tag or a commit, or run git fetch first`,
    );
  }
}

/**
 * Checks a commit out into a folder below `folder`, and builds it as it builds itself. It goes when this process ends.
 *
 * @throws Error with the last lines of the build if it fails
 */
export async function buildCommit(hash: string, folder: string): Promise<OtherBuild> {
  const own = repositoryRoot();
  const root = join(folder, 'other-build');
  // Before the listener that removes `folder`: git also keeps a record of the work tree.
  process.prependOnceListener('exit', () => removeWorkTree(own, root));
  git(own, 'worktree', 'add', '--quiet', '--detach', root, hash);
  const commit = git(own, 'rev-parse', '--short', hash);
  if (!existsSync(join(root, BUILD_SCRIPT))) {
    throw new Error(`the commit ${commit} cannot be built, because it has no ${BUILD_SCRIPT}`);
  }
  // If the packages differ or cannot be linked, its build installs them.
  if (hasPackagesOf(own, root)) linkPackages(own, root);
  console.error(`building ${commit}`);
  const build = new Child({
    command: process.execPath,
    args: [join(root, BUILD_SCRIPT)],
    cwd: root,
    env: process.env,
  });
  const end = (): void => endTree(build.pid);
  process.prependOnceListener('exit', end);
  const { status } = await build.ended;
  process.off('exit', end);
  if (status !== 0) {
    const lines = build.output.trimEnd().split('\n').slice(-QUOTED_LINES);
    throw new Error(`the build of ${commit} failed. Its last lines are:\n${lines.join('\n')}`);
  }
  return { root, commit };
}

function hasPackagesOf(own: string, root: string): boolean {
  const [ours, others] = [own, root].map(each => join(each, LOCK_FILE));
  return existsSync(others) && readFileSync(ours).equals(readFileSync(others));
}

function linkPackages(own: string, root: string): void {
  const packages = join(root, 'node_modules');
  try {
    linkFolder(join(own, 'node_modules'), packages);
  } catch (failure) {
    // Folders for temporary files may be on another file system.
    if ((failure as NodeJS.ErrnoException).code !== 'EXDEV') throw failure;
    rmSync(packages, { recursive: true, force: true });
  }
}

/** Makes the same folders and symbolic links, and hard links to the files. */
function linkFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    // Not a package: what tools keep between runs.
    if (entry.name === '.cache') continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}

/** A compiler that goes on would write to the folder after it was removed. */
function endTree(pid: number): void {
  try {
    for (const each of processTree(pid)) process.kill(each, 'SIGKILL');
  } catch {
    // One of them has ended.
  }
}

function removeWorkTree(own: string, root: string): void {
  if (!existsSync(root)) return;
  try {
    git(own, 'worktree', 'remove', '--force', root);
  } catch (failure) {
    console.error(`the work tree ${root} could not be removed: ${(failure as Error).message}`);
  }
}

function git(root: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}
