import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where Debian puts servers; the PATH of most users does not have them. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];

/** The reason why tests of this program are skipped, where it is not installed; else false. */
export function missing(program: string, debianPackage: string): string | false {
  const isThere = pathOf(program) !== undefined;
  return isThere ? false : `${program} is not on the PATH; the Debian package ${debianPackage} has it`;
}

/** The path of a program that is installed. */
export function toolPath(program: string): string {
  const path = pathOf(program);
  if (path === undefined) throw new Error(`${program} is not on the PATH`);
  return path;
}

function pathOf(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SERVER_FOLDERS];
  return folders.map(folder => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs a program to its end, of 60 s at most; returns what it wrote to both of its outputs. */
export function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise(resolve => {
    const options = { timeout: 60_000, maxBuffer: 16 * 1_048_576, encoding: 'latin1' } as const;
    execFile(program, args, options, (failure, stdout, stderr) => {
      resolve(`${stdout}${stderr}${failure === null ? '' : `\n${failure.message}`}`);
    });
  });
}
