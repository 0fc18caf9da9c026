import { createHmac } from 'node:crypto';
import { dirname } from 'node:path';
import type { Settings } from '../../settings/table.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import { SafeAddresses } from '../../tasks/delivery/worker-url.ts';
import type { TenantLimits } from '../../tasks/model/documents.ts';
import type { RestConfig } from '../../tasks/rest/http/parts.ts';
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
function cursorKey({ current }: MasterKeys): Buffer {
  return createHmac('sha256', current.key).update('cursors of lists').digest();
}

/**
 * The configuration of the REST interface.
 *
 * @param port `shown` is set when the port is open, before the first request
 */
export function restConfig(
  settings: Settings,
  keys: MasterKeys,
  port: { readonly shown: number },
): RestConfig {
  const isLocal = settings.serviceHost === 'localhost';
  const { networks, ports, allowHttp } = workerNetworks(settings);
  return {
    serviceHost: settings.serviceHost,
    scheme: isLocal ? 'http' : 'https',
    get publicPort() {
      return isLocal ? port.shown : 0;
    },
    signup: settings.accountsSignup,
    operatorToken: settings.accountsOperatorToken,
    tenantHeader: settings.tasksTenantHeader,
    jwt: {
      tenantClaim: settings.tasksJwtTenantClaim,
      autoProvision: settings.tasksJwtAutoProvision,
      defaultRole: settings.tasksJwtDefaultRole,
    },
    urls: { addresses: new SafeAddresses(networks), ports, allowHttp },
    limits: tenantLimits(settings),
    limitDomains: Object.values(limitDomains(settings)).flat(),
    cursorKey: cursorKey(keys),
  };
}
