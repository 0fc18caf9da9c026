import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type Clock, SECOND_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { readWhole } from '../../base/files/auth-file.ts';
import type { Logger } from '../../base/logger.ts';
import { type KeySet, readKeySet } from './key-set.ts';

/** Maximum size of the file. */
const MAX_BYTES = 262_144;

/** How long what is known of the file is not checked again. */
const CHECKED_MS = 2 * SECOND_MS;

/** Without `O_NONBLOCK`, opening a pipe without a writer would block a thread of the pool forever. */
const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The keys in a file. While tokens are checked, the file is looked at every two seconds, so that keys can be rotated without
 * a restart. The keys stay as they are while the file is missing or has faults.
 */
export class KeyFile {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #log: Logger;
  #keys: KeySet | null = null;
  /** Of the version of the file that was read last, also if it had faults. */
  #version = '';
  #checkedMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | null = null;
  /** Why the file could not be used; empty if it could. */
  #problem = '';

  constructor(path: string, clock: Pick<Clock, 'nowMs'>, log: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
  }

  /** The keys that are known; null before the first {@link refresh}, and if the file has never been usable. */
  get keys(): KeySet | null {
    return this.#keys;
  }

  /** Looks at the file if it is time for that. Never rejects. */
  refresh(): Promise<void> {
    if (this.#checking !== null) return this.#checking;
    const nowMs = this.#clock.nowMs();
    if (Math.abs(nowMs - this.#checkedMs) < CHECKED_MS) return Promise.resolve();
    this.#checkedMs = nowMs;
    this.#checking = this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.#version) return;
      this.#version = version;
      const keys = await readKeySet(await contentOf(this.#path));
      // Tokens that were checked with the same keys need not be checked again.
      if (keys.text !== this.#keys?.text) this.#keys = keys;
      this.#report('');
    } catch (cause) {
      this.#report(asError(cause).message);
    }
  }

  /** Logs each problem once, and the end of the last one. */
  #report(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    const file = this.#path;
    if (problem === '') this.#log.info('The keys of tokens can be used again', { file });
    else {
      const isKept = this.#keys !== null;
      this.#log.error(
        isKept
          ? 'Could not use the keys of tokens; the previous keys stay active'
          : 'Could not use the keys of tokens; tokens are treated as invalid',
        { file, reason: problem, advice: 'write a JSON Web Key Set with public keys into the file' },
      );
    }
  }
}

async function contentOf(path: string): Promise<string> {
  const handle = await open(path, READ_WITHOUT_WAITING);
  try {
    if (!(await handle.stat()).isFile()) throw new Error('it is not a regular file');
    const bytes = await readWhole(handle, MAX_BYTES);
    if (bytes.length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return Buffer.from(bytes).toString();
  } finally {
    await handle.close();
  }
}
