import { randomBytes } from 'node:crypto';
import {
  cp,
  lstat,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  unlink,
} from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { asError } from '../../base/fault.ts';
import { RehearsalRefused } from '../../rehearsal/rehearsals.ts';
import type { RuleFile } from '../../rules/rule-set.ts';
import type { FileRuleSource } from '../../rules/source/file-source.ts';
import { isRuleFileName, leadsOverLink } from '../../rules/source/read-directory.ts';
import type { Settings } from '../../settings/table.ts';

/** The settings that say where the active rule files are. */
type RuleFileSettings = Pick<
  Settings,
  'runtimeRoot' | 'runtimeSubdirectory' | 'runtimeAppDirectory' | 'runtimeIgnoreDotFiles'
>;

/** Where the active rule files are. */
interface Place {
  /** `RUNTIME_ROOT`, and whether it is a symbolic link. */
  readonly root: string;
  readonly isLink: boolean;
  /** The directory of the files, below the root. */
  readonly below: string;
  readonly ignoreDotFiles: boolean;
}

/**
 * Replaces the active rule files by others. If `RUNTIME_ROOT` is a symbolic link, a copy of its target gets the files, and
 * the link is swapped: all processes see all files at once. If the rules are in a plain directory, each file is replaced
 * after all of them have been written, so a full disk changes nothing.
 *
 * @param source the source that reads the active files; null with xDS
 * @throws RehearsalRefused, with the active rules as they were unless files of a plain directory could not be renamed
 */
export async function installRules(
  files: readonly RuleFile[],
  settings: RuleFileSettings,
  source: FileRuleSource | null,
): Promise<void> {
  if (source === null) {
    throw new RehearsalRefused(
      'The active rules come from an xDS server. Publish the candidate rules there.',
    );
  }
  try {
    const place = await placeOf(settings);
    await source.exchange(() => (place.isLink ? swapRoot(place, files) : replaceFiles(place, files)));
  } catch (cause) {
    if (cause instanceof RehearsalRefused) throw cause;
    throw new RehearsalRefused(
      `The rule files could not be written (${asError(cause).message}). Check that Sluice may write to ${settings.runtimeRoot}.`,
      { cause },
    );
  }
}

/** @throws RehearsalRefused if a deployment swaps the files, which must not be undone */
async function placeOf(settings: RuleFileSettings): Promise<Place> {
  const { runtimeRoot: root, runtimeSubdirectory, runtimeAppDirectory } = settings;
  const ignoreDotFiles = settings.runtimeIgnoreDotFiles;
  const below = join(runtimeSubdirectory, runtimeAppDirectory);
  const isLink = (await lstat(root)).isSymbolicLink();
  const directory = await realpath(join(root, below));
  const top = isLink ? await realpath(root) : root;
  const place = { root, isLink, below, ignoreDotFiles };
  if ((await leadsOverLink(top, join(top, below))) || (!isLink && (await hasLinks(directory, place)))) {
    throw new RehearsalRefused(
      `The rule files are behind a symbolic link below ${root}, which a deployment swaps. Deploy the candidate rules there.`,
    );
  }
  return place;
}

/** Whether a rule file is a symbolic link. */
async function hasLinks(directory: string, names: Place): Promise<boolean> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.some(entry => entry.isSymbolicLink() && isRuleFileName(entry.name, names));
}

/** The end of the name of a version that {@link swapRoot} has made. */
const PROMOTED = /(?:\.promoted-[0-9a-f]{8})+$/;

/** Copies the target of the link `root`, replaces the rule files of the copy, and swaps the link. */
async function swapRoot({ root, ...place }: Place, files: readonly RuleFile[]): Promise<void> {
  const path = resolve(root);
  const target = await realpath(path);
  const version = `${target.replace(PROMOTED, '')}.promoted-${randomHex()}`;
  const link = `${path}.promoting-${randomHex()}`;
  try {
    await cp(target, version, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    await replaceFiles({ ...place, root: version }, files);
    const isRelative = !isAbsolute(await readlink(path));
    await symlink(isRelative ? relative(await realpath(dirname(path)), version) : version, link);
    await rename(link, path);
  } catch (failure) {
    await rm(link, { force: true });
    await rm(version, { recursive: true, force: true });
    throw failure;
  }
}

/** Writes all files beside those that they replace, renames them, then removes rule files that are not among them. */
async function replaceFiles(place: Place, files: readonly RuleFile[]): Promise<void> {
  const directory = join(place.root, place.below);
  const written: { readonly from: string; readonly to: string }[] = [];
  try {
    for (const { name, content } of files) {
      // The name does not end like that of a rule file, so it is never loaded.
      const move = { from: join(directory, `.promoting-${randomHex()}`), to: join(directory, name) };
      written.push(move);
      await writeLike(move.to, move.from, content);
    }
    for (const { from, to } of written) await rename(from, to);
  } catch (failure) {
    for (const { from } of written) await rm(from, { force: true });
    throw failure;
  }
  const kept = new Set(files.map(({ name }) => name));
  for (const name of await readdir(directory)) {
    if (isRuleFileName(name, place) && !kept.has(name)) await unlink(join(directory, name));
  }
}

/** Writes a new file, with the permissions of the one that it will replace, if there is one. */
async function writeLike(replaced: string, path: string, content: Uint8Array): Promise<void> {
  const mode = await stat(replaced).then(
    found => found.mode & 0o777,
    () => null,
  );
  const handle = await open(path, 'wx', mode ?? 0o644);
  try {
    // The mask of the process may have taken permissions away.
    if (mode !== null) await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function randomHex(): string {
  return randomBytes(4).toString('hex');
}
