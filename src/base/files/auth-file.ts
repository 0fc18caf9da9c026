import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { asError } from '../fault.ts';

/** Without `O_NONBLOCK`, opening a pipe without a writer would block a thread of the pool forever. */
const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Access tokens of cloud providers take up to a few kilobytes. */
const MAX_BYTES = 16_384;

/**
 * A file that holds `password` or `user:password`. It is read for each connection, so that secrets can be rotated
 * without a restart.
 */
export class AuthFile {
  readonly #path: string;
  readonly #setting: string;

  /** @param setting the name of the setting with the path, for error messages */
  constructor(path: string, setting: string) {
    this.#path = path;
    this.#setting = setting;
  }

  /**
   * Reads the credentials. Line breaks at the end of the file are ignored.
   *
   * @throws Error that names the setting and the file, but never quotes the content
   */
  async read(): Promise<Credentials> {
    const text = await readSecret(this.#path, this.#setting, 'password or user:password');
    // The text is not empty.
    return parseCredentials(text)!;
  }
}

/**
 * Reads a secret of at most 16 KiB from a file. Line breaks at the end of the file are ignored.
 *
 * @param setting the name of the setting with the path, for error messages
 * @param content what the file must hold, for error messages
 * @throws Error that names the setting and the file, but never quotes the content
 */
export async function readSecret(path: string, setting: string, content: string): Promise<string> {
  const fault = (problem: string) => new Error(`${setting}: '${path}' ${problem}; it must hold ${content}`);
  let bytes: Uint8Array;
  try {
    bytes = await beginningOf(path);
  } catch (cause) {
    // Error messages of Node.js quote the path.
    if (mayBeSecret(path)) throw new Error(notPath(setting));
    throw fault(`cannot be read (${asError(cause).message})`);
  }
  if (bytes.length > MAX_BYTES) throw fault(`has more than ${MAX_BYTES} bytes`);
  const text = Buffer.from(bytes)
    .toString()
    .replace(/[\r\n]+$/, '');
  if (text === '') throw fault('is empty');
  return text;
}

/** Whether the value of a setting for the path of a file with a secret may be the secret itself. */
export function mayBeSecret(path: string): boolean {
  return !/^(?:\.{0,2}\/|[A-Za-z]:\\)[^=]*$/.test(path);
}

/** What is wrong with a path that {@link mayBeSecret} and that no file has. */
export function notPath(setting: string): string {
  return (
    `${setting}: its value is not the path of a file, and is not shown because it may be the secret itself; write the path ` +
    'of a file, such as /run/secrets/name'
  );
}

async function beginningOf(path: string): Promise<Uint8Array> {
  const handle = await open(path, READ_WITHOUT_WAITING);
  try {
    return await readWhole(handle, MAX_BYTES);
  } finally {
    await handle.close();
  }
}

/** Reads at most `size + 1` bytes of a file. The extra byte shows that the file is larger than `size`. */
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

/** Credentials for a server. Empty strings if there are no credentials. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Parses `password` or `user:password`, split at the first colon. Returns null for an empty text. */
export function parseCredentials(text: string): Credentials | null {
  if (text === '') return null;
  const colon = text.indexOf(':');
  return { username: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) };
}
