import { constants } from 'node:fs';
import { open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { systemCode } from '../../base/fault.ts';
import { readWhole } from '../../base/files/auth-file.ts';
import type { RuleFile } from '../rule-set.ts';

/**
 * What a rule source stumbled over.
 *
 * - `directory`: it is missing, is no directory, or may not be read
 * - `file`: a rule file is no regular file or may not be read
 * - `bound`: there is more than the source takes in
 * - `unsettled`: what was listed was gone or had changed when it was read; reading again helps
 */
type RuleSourceProblem = 'directory' | 'file' | 'bound' | 'unsettled';

/** Rule files could not be had from where they are kept. The message says what, where, and what to do. */
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

/** How often a directory that is swapped while it is read is read in all. */
export const MAX_READ_ATTEMPTS = 5;

/** The link that Kubernetes swaps to publish a new generation of a mounted volume; file links lead through it. */
export const DATA_LINK = '..data';

interface RuleNameOptions {
  /** True: whatever starts with a dot is as good as absent. */
  readonly ignoreDotFiles: boolean;
}

export interface RuleDirectoryContent {
  /** In byte order of their names, so that merging and faults do not depend on the file system. */
  files: RuleFile[];
  /** Names of entries that are no rule files. */
  ignored: string[];
}

/** Whether an entry of this name is read as a rule file. */
export function isRuleFileName(name: string, options: RuleNameOptions): boolean {
  return (name.endsWith('.yaml') || name.endsWith('.yml')) && !isHidden(name, options);
}

function isHidden(name: string, options: RuleNameOptions): boolean {
  return options.ignoreDotFiles && name.startsWith('.');
}

/**
 * Reads the rule files (`*.yaml`, `*.yml`) directly in `directory`; links to files are followed, directories are
 * not entered (spec 2.7). Files are named by `directory` joined with their name. All files are of one generation:
 * when the directory or its `..data` link is swapped meanwhile, or a listed file is gone, everything is read again.
 *
 * @throws RuleSourceFault when the directory or a rule file cannot be read, or when there is too much
 */
export async function readRuleDirectory(
  directory: string,
  options: RuleNameOptions,
  limits: RuleDirectoryLimits = RULE_DIRECTORY_LIMITS,
): Promise<RuleDirectoryContent> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readGeneration(directory, options, limits);
    } catch (failure) {
      const again = failure instanceof RuleSourceFault && failure.problem === 'unsettled';
      if (!again || attempt === MAX_READ_ATTEMPTS) throw failure;
    }
  }
}

async function readGeneration(
  directory: string,
  options: RuleNameOptions,
  limits: RuleDirectoryLimits,
): Promise<RuleDirectoryContent> {
  // Links on the way are resolved once: a swap of one cannot put files of two releases into one set.
  const real = await realpath(directory).catch(cause => {
    throw directoryFault(directory, cause);
  });
  const generation = await dataTarget(real);
  const { names, ignored } = await listEntries(directory, real, { ...options, limits });

  const files: RuleFile[] = [];
  let left = limits.bytes;
  for (const name of names) {
    const path = join(directory, name);
    const content = await readRuleFile(path, join(real, name), limits);
    left -= content.length;
    if (left < 0) throw tooManyBytes(path, limits.bytes);
    files.push({ name: path, content });
  }

  if ((await dataTarget(real)) !== generation) {
    const text = `'${join(directory, DATA_LINK)}' was swapped ${MAX_READ_ATTEMPTS} times in a row while rule files were read; publish less often`;
    throw new RuleSourceFault('unsettled', text);
  }
  return { files, ignored };
}

/**
 * True when the root, something between it and the directory, or the directory's data is a link, or when there is no
 * such directory yet.
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

/** Where the `..data` link leads, null when there is none. */
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
    // It was there a moment ago: a swap is under way.
    if (systemCode(failure) === 'ENOENT') throw unsettledDirectory(directory, failure);
    throw directoryFault(directory, failure);
  }
  return { names: inByteOrder(names), ignored: inByteOrder(ignored) };
}

/** The default order of strings is that of UTF-16, which puts U+10000 and up before U+E000. */
function inByteOrder(names: string[]): string[] {
  return names
    .map(name => ({ name, bytes: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name);
}

/**
 * Reads one rule file.
 *
 * @param path how messages name the file
 * @param real the file itself; differs from `path` if links to its directory were resolved
 * @throws RuleSourceFault if the file cannot be read, is no regular file or is too large
 */
export async function readRuleFile(
  path: string,
  real: string = path,
  limits: Pick<RuleDirectoryLimits, 'bytesPerFile'> = RULE_DIRECTORY_LIMITS,
): Promise<Uint8Array> {
  // Without O_NONBLOCK a named pipe would hold a thread of the pool until somebody writes to it.
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
  const text = `rule directory '${directory}' disappears while it is read; swap it by renaming a link over it`;
  return new RuleSourceFault('unsettled', text, { cause });
}

/** A listed file that is not there was moved by a swap, or is a link to nothing: only reading again can tell. */
async function fileFault(path: string, real: string, cause: unknown): Promise<RuleSourceFault> {
  const code = systemCode(cause);
  if (code !== 'ENOENT') {
    const text = `rule file '${path}' cannot be read (${code}); let the user of this process read it, or move it elsewhere`;
    return new RuleSourceFault('file', text, { cause });
  }
  const target = await readlink(real).catch(() => null);
  const text =
    target === null
      ? `rule file '${path}' disappears while it is read; replace it by renaming a new file over it`
      : `rule file '${path}' is a link to '${target}', which does not exist; correct or remove the link`;
  return new RuleSourceFault('unsettled', text, { cause });
}

function notAFile(path: string, what: string): RuleSourceFault {
  const text = `'${path}' is ${what}, but its name is that of a rule file; rename it or move it elsewhere`;
  return new RuleSourceFault('file', text);
}

function tooManyEntries(directory: string, most: string): RuleSourceFault {
  const text = `rule directory '${directory}' holds more than ${most}; write more rules into one file, or remove what is not needed`;
  return new RuleSourceFault('bound', text);
}

function tooLarge(path: string, most: number): RuleSourceFault {
  const text = `rule file '${path}' is larger than ${most} bytes; split it, or remove rules`;
  return new RuleSourceFault('bound', text);
}

function tooManyBytes(path: string, most: number): RuleSourceFault {
  const text = `with '${path}' the rule files of its directory come to more than ${most} bytes; remove rules`;
  return new RuleSourceFault('bound', text);
}
