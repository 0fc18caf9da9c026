import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { asError } from '../fault.ts';

/** A pipe that nobody writes to would hold a thread of the pool for ever; this way it is empty. */
const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Tokens of cloud providers have up to a few kilobytes. */
const MAX_BYTES = 16_384;

/**
 * A file that holds `password` or `user:password`. It is read for each connection, so that a secret can be replaced
 * and a token renewed while the service runs.
 */
export class AuthFile {
  readonly #path: string;
  readonly #setting: string;

  /** @param setting the name of the setting that names the file, for texts */
  constructor(path: string, setting: string) {
    this.#path = path;
    this.#setting = setting;
  }

  /**
   * What the file holds now. Line breaks at its end are left out.
   * @throws Error naming setting and file, never what is in it
   */
  async read(): Promise<Credentials> {
    const bytes = await this.#bytes();
    if (bytes.length > MAX_BYTES) throw this.#fault(`has more than ${MAX_BYTES} bytes`);
    const credentials = parseCredentials(
      Buffer.from(bytes)
        .toString()
        .replace(/[\r\n]+$/, ''),
    );
    if (credentials === null) throw this.#fault('is empty');
    return credentials;
  }

  async #bytes(): Promise<Uint8Array> {
    try {
      const handle = await open(this.#path, READ_WITHOUT_WAITING);
      try {
        return await readWhole(handle, MAX_BYTES);
      } finally {
        await handle.close();
      }
    } catch (cause) {
      throw this.#fault(`cannot be read (${asError(cause).message})`);
    }
  }

  #fault(problem: string): Error {
    return new Error(`${this.#setting}: '${this.#path}' ${problem}; it must hold password or user:password`);
  }
}

/** Reads a file to its end, but at most one byte more than `size`: that byte tells that the file is larger. */
export async function readWhole(handle: FileHandle, size: number): Promise<Uint8Array> {
  const content = new Uint8Array(size + 1);
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await handle.read(content, length, content.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

/** Who asks a server. Empty for nobody. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Reads `password` or `user:password`, split at the first colon: without one it is a password. Null for an empty text. */
export function parseCredentials(text: string): Credentials | null {
  if (text === '') return null;
  const colon = text.indexOf(':');
  return { username: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) };
}
