import { createHmac } from 'node:crypto';
import { dirname } from 'node:path';
import type { Settings } from '../../settings/table.ts';
import {
  type MasterKey,
  openOrMakeMasterKeyFile,
  parseMasterKey,
  readMasterKeyFile,
} from '../../tasks/sealing/master-key.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import { makeDataDirectory } from './task-store.ts';

/**
 * The master keys that the settings name.
 *
 * @param missing what to do where the file is not there: only the quick start makes one
 * @throws MasterKeyRefused, which never says what a key is
 */
export async function loadMasterKeys(settings: Settings, missing: 'make' | 'refuse'): Promise<MasterKeys> {
  const older = settings.secretsPreviousMasterKeys
    .split(',')
    .filter(text => text !== '')
    .map(text => parseMasterKey(text, 'SECRETS_PREVIOUS_MASTER_KEYS'));
  return { current: await currentKey(settings, missing), older };
}

async function currentKey(settings: Settings, missing: 'make' | 'refuse'): Promise<MasterKey> {
  const { secretsMasterKey, secretsMasterKeyFile: path } = settings;
  if (path === '') return parseMasterKey(secretsMasterKey, 'SECRETS_MASTER_KEY');
  if (missing === 'refuse') return await readMasterKeyFile(path);
  makeDataDirectory(dirname(path));
  return await openOrMakeMasterKeyFile(path);
}

/** A key for the cursors of lists, which says nothing about the one that it comes from. The same in all processes. */
export function cursorKey({ current }: MasterKeys): Buffer {
  return createHmac('sha256', current.key).update('cursors of lists').digest();
}
