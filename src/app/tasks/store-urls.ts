import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { asError } from '../../base/fault.ts';
import { makeDirectory } from '../../base/files/make-directory.ts';
import {
  postgresAddressFault,
  postgresAsksForTls,
  readPostgresAddress,
} from '../../settings/kinds/postgres-address.ts';
import {
  asksForTls,
  clusterEndpoints,
  redisAddressFault,
  redisEndpoint,
} from '../../settings/kinds/redis-address.ts';
import type { Settings } from '../../settings/table.ts';
import type { MovingStore } from '../../tasks/move/moving-store.ts';
import { threadedSqliteStore } from '../../tasks/store/sqlite/engine/thread-operator.ts';
import { refuseUnlessIdle } from '../../tasks/store/sqlite/file/idle-file.ts';
import type { Surroundings } from '../surroundings.ts';
import { TASKS_FILE } from './task-store.ts';

/** A URL names no store that can be used so. The message does not contain the URL, which may have a password. */
export class StoreUrlFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreUrlFault';
  }
}

/** `existing`: it must be there already, and is not changed by opening it. */
export type StoreUse = 'existing' | 'new_or_existing';

type Thread = Omit<Surroundings, 'stats'>;
type OpenStore = (url: string, use: StoreUse, thread: Thread) => MovingStore | Promise<MovingStore>;

/** How to open a store, by what URLs of it begin with. */
const OPENERS: readonly (readonly [begin: RegExp, open: OpenStore])[] = [
  [/^sqlite:/i, fileStore],
  [/^(?:redis|valkey)s?:/i, redisStore],
  [/^postgres(?:ql)?:/i, postgresStore],
];

/**
 * The store that a URL names, not started.
 *
 * @param thread has the settings of Redis that a URL does not have, such as `TASKS_REDIS_TLS_CACERT`
 * @throws StoreUrlFault; Fault `store_failed` if the file of the store cannot be used
 */
export async function storeAtUrl(url: string, use: StoreUse, thread: Thread): Promise<MovingStore> {
  const opener = OPENERS.find(([begin]) => begin.test(url));
  if (opener === undefined) throw new StoreUrlFault('it is not the URL of a task store');
  return opener[1](url, use, thread);
}

function fileStore(url: string, use: StoreUse, { settings, logger }: Thread): MovingStore {
  const path = filePath(url);
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  if (isThere) refuseUnlessIdle(path, use === 'new_or_existing');
  else if (use === 'existing') throw new StoreUrlFault(`there is no file ${path}`);
  else createDirectory(dirname(path));
  const file = { path, synchronous: settings.tasksSqliteSynchronous, isAlone: true };
  const { store } = threadedSqliteStore(file, logger);
  return { store, shown: `sqlite:${path}` };
}

/** A directory stands for the file in it. A path that does not exist is a file if its name has an ending. */
function filePath(url: string): string {
  const given = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (given === '') throw new StoreUrlFault('the path is missing: write sqlite:PATH');
  const path = resolve(given);
  const found = statSync(path, { throwIfNoEntry: false });
  const isDirectory = found === undefined ? !basename(path).includes('.') : found.isDirectory();
  return isDirectory ? join(path, TASKS_FILE) : path;
}

function createDirectory(path: string): void {
  try {
    makeDirectory(path);
  } catch (cause) {
    throw new StoreUrlFault(`the directory ${path} cannot be created: ${asError(cause).message}`);
  }
}

async function redisStore(url: string, _use: StoreUse, thread: Thread): Promise<MovingStore> {
  const { settings } = thread;
  const { address, parameters } = ownParameters(url);
  const type = parameters.type ?? settings.tasksRedisType;
  const prefix = parameters.prefix ?? settings.tasksRedisKeyPrefix;
  if (type !== 'single' && type !== 'cluster')
    throw new StoreUrlFault('its parameter "type" is neither single nor cluster');
  if (!/^[A-Za-z0-9.:_-]{0,64}$/.test(prefix))
    throw new StoreUrlFault(
      'its parameter "prefix" has more than 64 characters, or others than letters, digits and .:_-',
    );
  const fault = redisAddressFault({
    type,
    socketType: 'tcp',
    url: address,
    typeName: 'the parameter "type"',
  });
  if (fault !== null) throw new StoreUrlFault(`${fault.problem}; accepted: ${fault.accepted}`);
  const { redisTaskStore } = await import('./redis-task-store.ts');
  const used: Settings = {
    ...settings,
    tasksRedisUrl: address,
    tasksRedisType: type,
    tasksRedisKeyPrefix: prefix,
    tasksRedisTls: settings.tasksRedisTls || asksForTls(address),
    ...(hasPassword(address) && { tasksRedisAuthFile: '' }),
  };
  // Hints are swept by the service. Somebody waits for the command, so a server that is not there is told soon.
  const options = { sweepMs: null, startMs: settings.tasksRedisTimeoutMs };
  const store = redisTaskStore({ ...thread, settings: used }, options);
  return { store, shown: `${shownServers(type, address)} with the prefix ${prefix}` };
}

async function postgresStore(url: string, use: StoreUse, thread: Thread): Promise<MovingStore> {
  const fault = postgresAddressFault(url);
  if (fault !== null) throw new StoreUrlFault(fault);
  const [{ postgresOptions }, { refuseWithoutTables }, { PostgresTaskStore }] = await Promise.all([
    import('./postgres-task-store.ts'),
    import('../../tasks/store/postgres/existing-tables.ts'),
    import('../../tasks/store/postgres/postgres-store.ts'),
  ]);
  const { settings } = thread;
  const used: Settings = {
    ...settings,
    tasksPostgresUrl: url,
    tasksPostgresTls: settings.tasksPostgresTls || postgresAsksForTls(url),
    ...(hasPassword(url) && { tasksPostgresPasswordFile: '' }),
  };
  const options = postgresOptions({ ...thread, settings: used });
  if (use === 'existing') await refuseWithoutTables(options);
  // As for Redis, a server that is not there is told soon.
  const store = new PostgresTaskStore({ ...options, startMs: settings.tasksPostgresTimeoutMs });
  return { store, shown: `postgres://${readPostgresAddress(url).shown}` };
}

/** Then the file with a password, which is that of the service, is for the other store. */
function hasPassword(url: string): boolean {
  return /^[^/]+:\/\/[^/@]*:[^/@]+@/.test(url);
}

interface OwnParameters {
  readonly type?: string;
  readonly prefix?: string;
}

/** Takes the parameters out of a URL that addresses of Redis do not have. Everything else of it stays as it is. */
function ownParameters(url: string): { readonly address: string; readonly parameters: OwnParameters } {
  const parameters: Record<string, string> = {};
  let address = url;
  for (;;) {
    const found = /([?&])(type|prefix)=([^&,#]*)(&?)/.exec(address);
    if (found === null) return { address, parameters };
    const [whole, mark, name, value, more] = found;
    parameters[name] = unescaped(value);
    address = address.replace(whole, more === '' ? '' : mark);
  }
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new StoreUrlFault('a `%` in it begins no escape; write `%25` for a percent sign');
  }
}

/** Without credentials, and in one order, so that the same servers have the same text. */
function shownServers(type: 'single' | 'cluster', url: string): string {
  const endpoints =
    type === 'cluster'
      ? clusterEndpoints({ url, auth: '' })
      : [redisEndpoint({ socketType: 'tcp', url, auth: '' })];
  return endpoints
    .map(({ shown }) => shown.replace('*****@', ''))
    .sort()
    .join(',');
}
