import { rmSync } from 'node:fs';
import { makeTempDirectory } from '../../test/support/temp-directory.ts';

/**
 * Makes a folder for all files of this run. It goes when the process ends, however that comes about, and with it what
 * was made in "the system's folder for temporary files": until then that is this one, for children as well.
 */
export function makeWorkFolder(): string {
  const folder = makeTempDirectory();
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
