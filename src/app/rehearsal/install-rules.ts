import { randomBytes } from 'node:crypto';
import { cp, lstat, open, readdir, readlink, realpath, rename, rm, symlink, unlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { asError } from '../../base/fault.ts';
import { RehearsalRefused } from '../../rehearsal/rehearsals.ts';
import type { RuleFile } from '../../rules/rule-set.ts';
import type { FileRuleSource } from '../../rules/source/file-source.ts';
import { isRuleFileName, leadsOverLink } from '../../rules/source/read-directory.ts';
import type { Settings } from '../../settings/table.ts';

/**
 * Replaces the active rule files by others. If `RUNTIME_ROOT` is a symbolic link, a copy of its target gets the files, and
 * the link is swapped: all processes see all files at once. If the rules are in a plain directory, each file is replaced.
 *
 * @param source the source that reads the active files; null with xDS
 * @throws RehearsalRefused, with the active rules as they were or, in a plain directory, with some of the files replaced
 */
export async function installRules(
  files: readonly RuleFile[],
  settings: Settings,
  source: FileRuleSource | null,
): Promise<void> {
  if (source === null) {
    throw new RehearsalRefused(
      'The active rules come from an xDS server. Publish the candidate rules there.',
    );
  }
  const { runtimeRoot: root, runtimeSubdirectory, runtimeAppDirectory } = settings;
  const below = join(runtimeSubdirectory, runtimeAppDirectory);
  const isLink = await lstat(root).then(
    found => found.isSymbolicLink(),
    () => false,
  );
  if (!isLink && (await leadsOverLink(root, join(root, below)))) {
    throw new RehearsalRefused(
      `The rule files are behind a symbolic link below ${root}, which a deployment swaps. Deploy the candidate rules there.`,
    );
  }
  try {
    await source.exchange(() =>
      isLink ? swapRoot(root, below, files, settings) : replaceFiles(join(root, below), files, settings),
    );
  } catch (cause) {
    throw new RehearsalRefused(
      `The rule files could not be written (${asError(cause).message}). Check that Sluice may write to ${root}.`,
      { cause },
    );
  }
}

type Names = Pick<Settings, 'runtimeIgnoreDotFiles'>;

/** Copies the target of the link `root`, replaces the rule files of the copy, and swaps the link. */
async function swapRoot(
  root: string,
  below: string,
  files: readonly RuleFile[],
  names: Names,
): Promise<void> {
  const path = resolve(root);
  const target = await realpath(path);
  const version = `${target}.promoted-${randomBytes(4).toString('hex')}`;
  const link = `${path}.promoting-${randomBytes(4).toString('hex')}`;
  try {
    await cp(target, version, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    await replaceFiles(join(version, below), files, names);
    const isRelative = !isAbsolute(await readlink(path));
    await symlink(isRelative ? relative(await realpath(dirname(path)), version) : version, link);
    await rename(link, path);
  } catch (failure) {
    await rm(link, { force: true });
    await rm(version, { recursive: true, force: true });
    throw failure;
  }
}

/** Writes each file beside the one it replaces and renames it, then removes rule files that are not among them. */
async function replaceFiles(
  directory: string,
  files: readonly RuleFile[],
  { runtimeIgnoreDotFiles: ignoreDotFiles }: Names,
): Promise<void> {
  const kept = new Set(files.map(({ name }) => name));
  for (const { name, content } of files) {
    // The name does not end like that of a rule file, so it is never loaded.
    const written = join(directory, `.${name}.${randomBytes(4).toString('hex')}`);
    try {
      const handle = await open(written, 'wx', 0o644);
      try {
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(written, join(directory, name));
    } catch (failure) {
      await rm(written, { force: true });
      throw failure;
    }
  }
  for (const name of await readdir(directory)) {
    if (isRuleFileName(name, { ignoreDotFiles }) && !kept.has(name)) await unlink(join(directory, name));
  }
}
