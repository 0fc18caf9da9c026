import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemCode } from '../../../base/fault.ts';
import { readWhole } from '../../../base/files/auth-file.ts';

/** The files of TLS, by what is in them (spec 2.7). */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** Null: clients show no certificate. */
  readonly clientCa: string | null;
}

/** What the files hold. The key in here is secret. */
export interface TlsTexts {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string | null;
}

/** The setting that names each file, for the texts of faults. */
export const TLS_SETTINGS: Readonly<Record<keyof TlsPaths, string>> = {
  certificate: 'GRPC_SERVER_TLS_CERT',
  key: 'GRPC_SERVER_TLS_KEY',
  clientCa: 'GRPC_CLIENT_TLS_CACERT',
};

/** A file of TLS cannot be used. The text names file and setting, and never quotes what the file holds. */
export class TlsFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TlsFault';
  }
}

/** Bundles of all public CAs have a fifth of this. */
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
    // Without O_NONBLOCK a named pipe would hold a thread of the pool until somebody writes to it.
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
