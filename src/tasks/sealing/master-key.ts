import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../../base/fault.ts';
import { mayBeSecret, notPath, readWhole } from '../../base/files/auth-file.ts';
import { OWNER_ONLY } from '../../base/files/owner-only.ts';

const KEY_BYTES = 32;
/** A file with a key is one short line. */
const MAX_FILE_BYTES = 1024;

/** The key that wraps the data keys of all tenants. */
export interface MasterKey {
  /** Which key it is: 16 hex digits that say nothing about it. */
  readonly id: string;
  readonly key: KeyObject;
}

/** Why a master key cannot be had. The text never holds key material. */
export class MasterKeyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MasterKeyRefused';
  }
}

/**
 * Reads a key of 32 bytes, as 64 hex digits or as base64 (either alphabet, padded or not).
 *
 * @param where what is named when it is refused: a setting or a file
 * @throws MasterKeyRefused
 */
export function parseMasterKey(text: string, where: string): MasterKey {
  const bytes = keyBytes(text.trim());
  if (bytes === null) {
    throw new MasterKeyRefused(
      `${where} is not a master key: it must be 32 bytes in base64 or hex ("openssl rand -base64 32" creates one)`,
    );
  }
  return masterKey(bytes);
}

/**
 * Reads the key from a file that only its owner may read and write.
 *
 * @throws MasterKeyRefused when it is not there, is open to others, or holds no key
 */
export async function readMasterKeyFile(path: string): Promise<MasterKey> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (failure) {
    if (mayBeSecret(path)) throw new MasterKeyRefused(notPath('SECRETS_MASTER_KEY_FILE'));
    throw new MasterKeyRefused(
      `SECRETS_MASTER_KEY_FILE: '${path}' cannot be read: ${systemCode(failure)}; write the path of the file with the key`,
    );
  }
  try {
    // The opened file is asked, not the path, which may lead elsewhere by now.
    const status = await handle.stat();
    if (!status.isFile())
      throw new MasterKeyRefused(`${path} should contain the master key but is not a file`);
    // Windows has no such bits.
    if (process.platform !== 'win32' && (status.mode & 0o077) !== 0) {
      const mode = (status.mode & 0o777).toString(8);
      throw new MasterKeyRefused(
        `${path} contains the master key and must be readable by its owner only, but has mode ${mode}: chmod 600 it`,
      );
    }
    const content = await readWhole(handle, MAX_FILE_BYTES);
    return parseMasterKey(Buffer.from(content).toString('latin1'), path);
  } finally {
    await handle.close();
  }
}

/**
 * Reads the key from the file. If the file does not exist, it is created with a new key. An existing file is never
 * changed, so if several processes start at the same time, all of them use the same key.
 *
 * @throws MasterKeyRefused as {@link readMasterKeyFile}, or if the file cannot be created
 */
export async function openOrMakeMasterKeyFile(path: string): Promise<MasterKey> {
  if (keyBytes(path) !== null) throw new MasterKeyRefused(notPath('SECRETS_MASTER_KEY_FILE'));
  if (!(await exists(path))) {
    try {
      await makeFile(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    } catch (failure) {
      throw new MasterKeyRefused(
        `SECRETS_MASTER_KEY_FILE: '${path}' cannot be created: ${systemCode(failure)}`,
      );
    }
  }
  return readMasterKeyFile(path);
}

/** Creates the file atomically. Does nothing if the file exists. */
async function makeFile(path: string, content: string): Promise<void> {
  const whole = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.new`;
  const handle = await open(whole, 'wx', OWNER_ONLY);
  try {
    await handle.writeFile(content);
    await handle.sync();
    await handle.close();
    // A rename would replace a file that another process has made meanwhile; a link does not.
    await link(whole, path);
  } catch (failure) {
    if (systemCode(failure) !== 'EEXIST') throw failure;
  } finally {
    await handle.close();
    await rm(whole, { force: true });
  }
  await syncDirectory(dirname(path));
}

/** Secrets that are sealed a moment later must not outlive the key in a power cut. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, 'r')).close();
    return true;
  } catch (failure) {
    // Any other error means that the file exists.
    return systemCode(failure) !== 'ENOENT';
  }
}

function keyBytes(text: string): Buffer | null {
  if (/^[0-9A-Fa-f]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return null;
}

function masterKey(bytes: Buffer): MasterKey {
  const id = createHmac('sha256', bytes).update('sluice master key id').digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}
