import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemCode } from '../../../base/fault.ts';
import { readWhole } from '../../../base/files/auth-file.ts';

/** Paths of the TLS files (spec 2.7). */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** Null: clients need no certificate. */
  readonly clientCa: string | null;
}

/** Contents of the TLS files. The key is secret. */
export interface TlsTexts {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string | null;
}

/** The setting that names each file, for error messages. */
export const TLS_SETTINGS: Readonly<Record<keyof TlsPaths, string>> = {
  certificate: 'GRPC_SERVER_TLS_CERT',
  key: 'GRPC_SERVER_TLS_KEY',
  clientCa: 'GRPC_CLIENT_TLS_CACERT',
};

/** A TLS file cannot be used. The message names the file and the setting, and never quotes the content of the file. */
export class TlsFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TlsFault';
  }
}

/** Maximum size of a file. A bundle of all public CAs has a fifth of it. */
const MAX_FILE_BYTES = 1_048_576;

/** @throws TlsFault for the first file that cannot be read */
export async function readTlsFiles(paths: TlsPaths): Promise<TlsTexts> {
  return {
    certificate: await readFileOf('certificate', paths.certificate),
    key: await readFileOf('key', paths.key),
    clientCa: paths.clientCa === null ? null : await readFileOf('clientCa', paths.clientCa),
  };
}

async function readFileOf(part: keyof TlsPaths, path: string): Promise<string> {
  const place = `${TLS_SETTINGS[part]}: '${path}'`;
  try {
    // Without O_NONBLOCK, opening a named pipe would block a pool thread until another process writes to the pipe.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new TlsFault(`${place} is not a regular file; name a PEM file`);
      const content = await readWhole(handle, Math.min(stats.size, MAX_FILE_BYTES));
      if (content.length > MAX_FILE_BYTES) {
        throw new TlsFault(
          `${place} is larger than ${MAX_FILE_BYTES} bytes; name a file with certificates only`,
        );
      }
      return Buffer.from(content).toString('latin1');
    } finally {
      await handle.close();
    }
  } catch (failure) {
    throw failure instanceof TlsFault ? failure : unreadable(place, failure);
  }
}

function unreadable(place: string, cause: unknown): TlsFault {
  const code = systemCode(cause);
  const text =
    code === 'ENOENT'
      ? `${place} does not exist; put the file there, or correct the setting`
      : `${place} cannot be read (${code}); let the user of this process read it, or correct the setting`;
  return new TlsFault(text, { cause });
}
