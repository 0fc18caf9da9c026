import { constants } from 'node:fs';
import { open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { systemCode } from '../../base/fault.ts';
import { readWhole } from '../../base/files/auth-file.ts';
import type { RuleFile } from '../rule-set.ts';
import { mayHaveValueFiles, namedValueFiles } from './value-files.ts';

/**
 * Why rule files could not be read.
 *
 * - `directory`: the directory is missing, is not a directory, or is not readable
 * - `file`: a rule file is not a regular file or is not readable
 * - `bound`: a {@link RuleDirectoryLimits limit} is exceeded
 * - `unsettled`: a listed file was gone or changed while it was read; reading again may succeed
 * - `dangling`: a rule file is a link to a file that does not exist
 */
type RuleSourceProblem = 'directory' | 'file' | 'bound' | 'unsettled' | 'dangling';

/** Rule files could not be read. The message names the path, the cause and the remedy. */
export class RuleSourceFault extends Error {
  readonly problem: RuleSourceProblem;

  constructor(problem: RuleSourceProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RuleSourceFault';
    this.problem = problem;
  }
}

/** How much a rule directory may hold. */
interface RuleDirectoryLimits {
  /** Entries of every kind. */
  readonly entries: number;
  /** Rule files. */
  readonly files: number;
  readonly bytesPerFile: number;
  /** Of all rule files together. */
  readonly bytes: number;
}

const MEBIBYTE = 1024 * 1024;

export const RULE_DIRECTORY_LIMITS: RuleDirectoryLimits = {
  entries: 100_000,
  files: 10_000,
  bytesPerFile: 64 * MEBIBYTE,
  bytes: 256 * MEBIBYTE,
};

/** Maximum number of attempts to read a directory that is swapped while it is read. */
export const MAX_READ_ATTEMPTS = 5;

/**
 * The symbolic link that Kubernetes swaps to publish a new version of a mounted volume. The links of the files lead
 * through it.
 */
export const DATA_LINK = '..data';

interface RuleNameOptions {
  /** Ignore names that start with a dot. */
  readonly ignoreDotFiles: boolean;
}

export interface RuleDirectoryContent {
  /**
   * In byte order of their names, so that merging and faults do not depend on the file system. Files of values that the rules
   * name follow.
   */
  files: RuleFile[];
  /** Whether rules name files of values, so that a change of any file may change the rules. */
  hasValueFiles: boolean;
  /** Names of entries that are not read. */
  ignored: string[];
  /** Names of rule files that were skipped, because they are links to files that do not exist. */
  dangling: string[];
}

/** Whether an entry of this name is read as a rule file. */
export function isRuleFileName(name: string, options: RuleNameOptions): boolean {
  return (name.endsWith('.yaml') || name.endsWith('.yml')) && !isHidden(name, options);
}

function isHidden(name: string, options: RuleNameOptions): boolean {
  return options.ignoreDotFiles && name.startsWith('.');
}

/**
 * Reads the rule files (`*.yaml`, `*.yml`) directly in `directory`, and the files of values that they name; links to files are
 * followed, directories are not entered (spec 2.7). Files are named by `directory` joined with their name. All files are of one version: if the
 * directory or its `..data` link is swapped during the read, or a listed file is gone, everything is read again. Links
 * that still lead nowhere then, such as the locks of some editors, are skipped, unless they are all that there is.
 *
 * @throws RuleSourceFault if the directory or a rule file cannot be read, or a limit is exceeded
 */
export async function readRuleDirectory(
  directory: string,
  options: RuleNameOptions,
  limits: RuleDirectoryLimits = RULE_DIRECTORY_LIMITS,
): Promise<RuleDirectoryContent> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readOnce(directory, { ...options, skipsDangling: attempt > 1 }, limits);
    } catch (failure) {
      if (!mayPass(failure) || attempt === MAX_READ_ATTEMPTS) throw failure;
    }
  }
}

/** Whether reading again may succeed. */
function mayPass(failure: unknown): boolean {
  return (
    failure instanceof RuleSourceFault && (failure.problem === 'unsettled' || failure.problem === 'dangling')
  );
}

async function readOnce(
  directory: string,
  options: RuleNameOptions & { readonly skipsDangling: boolean },
  limits: RuleDirectoryLimits,
): Promise<RuleDirectoryContent> {
  // Links in the path are resolved once, so that a swapped link cannot mix the files of two releases.
  const real = await realpath(directory).catch(cause => {
    throw directoryFault(directory, cause);
  });
  const target = await dataTarget(real);
  const { names, ignored } = await listEntries(directory, real, { ...options, limits });

  const files: RuleFile[] = [];
  const dangling: string[] = [];
  let left = limits.bytes;
  const read = async (name: string): Promise<RuleFile> => {
    const path = join(directory, name);
    const content = await readRuleFile(path, join(real, name), limits);
    left -= content.length;
    if (left < 0) throw tooManyBytes(path, limits.bytes);
    return { name: path, content };
  };
  for (const name of names) {
    try {
      files.push(await read(name));
    } catch (failure) {
      const isDangling = failure instanceof RuleSourceFault && failure.problem === 'dangling';
      const othersRemain = dangling.length + 1 < names.length;
      if (!isDangling || !options.skipsDangling || !othersRemain) throw failure;
      dangling.push(name);
    }
  }
  const hasValueFiles = files.some(mayHaveValueFiles);
  const values = hasValueFiles ? namedValueFiles(ignored, files) : [];
  for (const name of values) files.push({ ...(await read(name)), format: 'values' });

  if ((await dataTarget(real)) !== target) {
    const text = `'${join(directory, DATA_LINK)}' was swapped during each of ${MAX_READ_ATTEMPTS} reads of the rule files; publish less often`;
    throw new RuleSourceFault('unsettled', text);
  }
  return { files, hasValueFiles, ignored: ignored.filter(name => !values.includes(name)), dangling };
}

/**
 * True if the root, a directory between the root and `directory`, `directory` itself, or its `..data` is a symbolic
 * link. Also true if the directory does not exist yet.
 */
export async function leadsOverLink(root: string, directory: string): Promise<boolean> {
  try {
    const top = resolve(root);
    const unlinked = join(await realpath(dirname(top)), basename(top), relative(top, resolve(directory)));
    return (await realpath(directory)) !== unlinked || (await dataTarget(unlinked)) !== null;
  } catch {
    return true;
  }
}

/** The target of the `..data` link, or null if there is no such link. */
async function dataTarget(real: string): Promise<string | null> {
  return readlink(join(real, DATA_LINK)).catch(() => null);
}

async function listEntries(
  directory: string,
  real: string,
  options: RuleNameOptions & { readonly limits: RuleDirectoryLimits },
): Promise<{ names: string[]; ignored: string[] }> {
  const names: string[] = [];
  const ignored: string[] = [];
  const { limits } = options;
  let count = 0;
  try {
    for await (const { name } of await opendir(real, { bufferSize: 256 })) {
      if (++count > limits.entries) throw tooManyEntries(directory, `${limits.entries} entries`);
      if (isRuleFileName(name, options)) names.push(name);
      else if (!isHidden(name, options)) ignored.push(name);
      if (names.length > limits.files) throw tooManyEntries(directory, `${limits.files} rule files`);
    }
  } catch (failure) {
    if (failure instanceof RuleSourceFault) throw failure;
    // `realpath` found it a moment ago, so a swap is in progress.
    if (systemCode(failure) === 'ENOENT') throw unsettledDirectory(directory, failure);
    throw directoryFault(directory, failure);
  }
  return { names: inByteOrder(names), ignored: inByteOrder(ignored) };
}

/** Sorts by UTF-8 bytes. The default order compares UTF-16 units, which puts U+10000 and above before U+E000. */
function inByteOrder(names: string[]): string[] {
  return names
    .map(name => ({ name, bytes: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name);
}

/**
 * Reads one rule file.
 *
 * @param path the path that messages show
 * @param real the path to open; differs from `path` if links to its directory were resolved
 * @throws RuleSourceFault if the file cannot be read, is not a regular file or is too large
 */
export async function readRuleFile(
  path: string,
  real: string = path,
  limits: Pick<RuleDirectoryLimits, 'bytesPerFile'> = RULE_DIRECTORY_LIMITS,
): Promise<Uint8Array> {
  // Without O_NONBLOCK, opening a named pipe blocks a thread of the pool until something writes to the pipe.
  const handle = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(async cause => {
    throw await fileFault(path, real, cause);
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(path, stats.isDirectory() ? 'a directory' : 'not a regular file');
    if (stats.size > limits.bytesPerFile) throw tooLarge(path, limits.bytesPerFile);
    const content = await readWhole(handle, stats.size);
    if (content.length === stats.size) return content;
    const text = `rule file '${path}' changed while it was read; write to another name and rename it into place`;
    throw new RuleSourceFault('unsettled', text);
  } catch (failure) {
    throw failure instanceof RuleSourceFault ? failure : await fileFault(path, real, failure);
  } finally {
    await handle.close();
  }
}

function directoryFault(directory: string, cause: unknown): RuleSourceFault {
  const code = systemCode(cause);
  const place = `rule directory '${directory}'`;
  let text = `${place} cannot be read (${code}); let the user of this process read it`;
  if (code === 'ENOENT') text = `${place} does not exist; create it and put the rule files (*.yaml) there`;
  if (code === 'ENOTDIR') text = `${place} is not a directory; put the rule files (*.yaml) into a directory`;
  return new RuleSourceFault('directory', text, { cause });
}

function unsettledDirectory(directory: string, cause: unknown): RuleSourceFault {
  const text = `rule directory '${directory}' disappeared while it was read; swap it by renaming a link over it`;
  return new RuleSourceFault('unsettled', text, { cause });
}

/** A listed file that is missing was moved by a swap, or is a broken link. Reading again shows which. */
async function fileFault(path: string, real: string, cause: unknown): Promise<RuleSourceFault> {
  const code = systemCode(cause);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') {
    const text = `rule file '${path}' cannot be read (${code}); let the user of this process read it, or move it elsewhere`;
    return new RuleSourceFault('file', text, { cause });
  }
  const target = await readlink(real).catch(() => null);
  if (target !== null) {
    const text = `rule file '${path}' is a link to '${target}', which does not exist; fix or remove the link`;
    return new RuleSourceFault('dangling', text, { cause });
  }
  const text = `rule file '${path}' disappeared while it was read; replace it by renaming a new file over it`;
  return new RuleSourceFault('unsettled', text, { cause });
}

function notAFile(path: string, what: string): RuleSourceFault {
  const text = `'${path}' is ${what}, but has the name of a rule file; rename it or move it elsewhere`;
  return new RuleSourceFault('file', text);
}

function tooManyEntries(directory: string, most: string): RuleSourceFault {
  const text = `rule directory '${directory}' holds more than ${most}; put more rules into each file, or remove unneeded files`;
  return new RuleSourceFault('bound', text);
}

function tooLarge(path: string, most: number): RuleSourceFault {
  const text = `rule file '${path}' is larger than ${most} bytes; split it, or remove rules`;
  return new RuleSourceFault('bound', text);
}

function tooManyBytes(path: string, most: number): RuleSourceFault {
  const text = `the rule files up to '${path}' have more than ${most} bytes in total; remove rules`;
  return new RuleSourceFault('bound', text);
}
