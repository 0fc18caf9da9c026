import { createHmac } from 'node:crypto';
import { dirname } from 'node:path';
import type { Settings } from '../../settings/table.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import type { TenantLimits } from '../../tasks/model/documents.ts';
import {
  type MasterKey,
  openOrMakeMasterKeyFile,
  parseMasterKey,
  readMasterKeyFile,
} from '../../tasks/sealing/master-key.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import type { LimitDomains } from '../start-limits.ts';
import { makeDataDirectory } from './task-store.ts';

/**
 * Networks and ports that tasks may be pushed to. Both the URLs of workers and their addresses at delivery are checked.
 */
export function workerNetworks(settings: Settings): Pick<DeliverySetup, 'networks' | 'ports' | 'allowHttp'> {
  return {
    networks: listOf(settings.tasksPushNetworks),
    ports: listOf(settings.tasksPushPorts).map(Number),
    allowHttp: settings.tasksPushHttp,
  };
}

function listOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

/** Limits of a tenant for which the operator has not changed anything. */
export function tenantLimits(settings: Settings): TenantLimits {
  return {
    openTasks: settings.tasksMaxOpen,
    retainSucceededMs: settings.tasksRetainSucceededMs,
    retainOtherMs: settings.tasksRetainOtherMs,
    payloadBytes: settings.tasksMaxPayloadBytes,
    workers: settings.tasksMaxWorkers,
    schedules: settings.tasksMaxSchedules,
    users: settings.tasksMaxUsers,
    tokensPerUser: settings.tasksMaxTokens,
    inFlight: settings.tasksMaxInFlight,
    dispatchPerSecond: settings.tasksDispatchRate,
  };
}

/** The domains whose limits workers may name. */
export function limitDomains(settings: Settings): LimitDomains {
  return {
    ofTenants: listOf(settings.tasksLimitDomains),
    shared: listOf(settings.tasksLimitSharedDomains),
  };
}

/** Returns the module of a thread, by the name of its file in `workers`. */
export function workerModule(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../../../workers/${name}.${extension}`, import.meta.url);
}

/**
 * Loads the master keys of the settings.
 *
 * @param missing whether to create the key file if it does not exist; only the quick start does
 * @throws MasterKeyRefused, which never contains a key
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
  makeDataDirectory(dirname(path), 'SECRETS_MASTER_KEY_FILE');
  return await openOrMakeMasterKeyFile(path);
}

/** Derives the key for the cursors of lists from the master key. All processes derive the same key. */
export function cursorKey({ current }: MasterKeys): Buffer {
  return createHmac('sha256', current.key).update('cursors of lists').digest();
}
