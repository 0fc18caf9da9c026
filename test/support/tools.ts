import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The reason why tests of this program are skipped, where it is not on the PATH; else false. */
export function missing(program: string, debianPackage: string): string | false {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const isThere = directories.some(directory => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  return isThere ? false : `${program} is not on the PATH; the Debian package ${debianPackage} has it`;
}

/** Runs a program to its end, of 30 s at most; returns what it wrote to both of its outputs. */
export function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise(resolve => {
    const options = { timeout: 30_000, maxBuffer: 16 * 1_048_576, encoding: 'latin1' } as const;
    execFile(program, args, options, (failure, stdout, stderr) => {
      resolve(`${stdout}${stderr}${failure === null ? '' : `\n${failure.message}`}`);
    });
  });
}
