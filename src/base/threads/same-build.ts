import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../package.ts';

/** Whether the built files are still those that a process has started with. */
export class BuildMark {
  readonly #path: string;
  readonly #atStart: string | null;

  /** @param path the file that a build writes last, and removes first, with a digest of the sources */
  constructor(path: string) {
    this.#path = path;
    this.#atStart = this.#read();
  }

  /**
   * Threads exchange messages and shared memory whose form is that of their version, so a thread is not started from files
   * that were replaced while the process runs. Without a mark at the start, nothing is known.
   *
   * @throws Error that says to restart the service
   */
  requireSame(): void {
    if (this.#atStart === null || this.#read() === this.#atStart) return;
    throw new Error(
      'the files of Sluice were replaced while this process runs, and a thread of another version cannot work with it: ' +
        'restart the service',
    );
  }

  #read(): string | null {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch {
      return null;
    }
  }
}

/** The module of a thread, by the name of its file in `workers`. */
export function workerModule(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../../../workers/${name}.${extension}`, import.meta.url);
}

const mark = new BuildMark(join(packageFolder(), 'build/.serving'));

/**
 * Call before each thread is started.
 *
 * @throws Error if the files of this process were replaced, see {@link BuildMark.requireSame}
 */
export function requireSameBuild(): void {
  mark.requireSame();
}
