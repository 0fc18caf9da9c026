import type { Redis } from 'ioredis';
import { asError } from '../../../../base/fault.ts';
import type { Logger } from '../../../../base/logger.ts';
import type { RedisTaskStoreOptions } from './options.ts';

/** Scripts with a first line that says what they do exist from here on. */
const OLDEST_MAJOR = 7;

/** Why a server is not used for tasks. */
export interface Unmet {
  readonly trouble: 'redis_settings' | 'redis_read_only';
  readonly text: string;
}

/**
 * What is wrong with a server for keeping tasks, each with the command that puts it right; empty when nothing is. What
 * may not be asked (managed services forbid CONFIG) is told in the log.
 */
export async function unmetRequirements(
  server: Redis,
  durability: RedisTaskStoreOptions['durability'],
  logger: Logger,
): Promise<Unmet[]> {
  const version = /redis_version:(\d+)[.\d]*/.exec(await server.info('server'));
  if (version !== null && Number(version[1]) < OLDEST_MAJOR) {
    const shown = version[0].slice('redis_version:'.length);
    return [unmet(`it is Redis ${shown}, and tasks need ${OLDEST_MAJOR}.0 or later: use a newer one`)];
  }
  const role = /role:(\w+)/.exec(await server.info('replication'))?.[1];
  if (role === 'slave')
    return [unmet('it is a replica: the address must lead to the master', 'redis_read_only')];
  let settings: Map<string, string>;
  try {
    settings = await settingsOf(server);
  } catch (failure) {
    logger.warning('Redis does not tell its settings: make sure that tasks survive', {
      reason: asError(failure).message,
      needed: `appendonly yes, appendfsync ${durability}, maxmemory-policy noeviction`,
    });
    return [];
  }
  return faultsOf(settings, durability).map(text => unmet(text));
}

function unmet(text: string, trouble: Unmet['trouble'] = 'redis_settings'): Unmet {
  return { trouble, text };
}

async function settingsOf(server: Redis): Promise<Map<string, string>> {
  const reply = (await server.call(
    'config',
    'get',
    'appendonly',
    'appendfsync',
    'maxmemory-policy',
  )) as unknown;
  const flat = Array.isArray(reply)
    ? reply.map(String)
    : Object.entries(reply as object)
        .flat()
        .map(String);
  const settings = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) settings.set(flat[i], flat[i + 1]);
  return settings;
}

function faultsOf(settings: ReadonlyMap<string, string>, durability: string): string[] {
  const wanted: readonly (readonly [name: string, value: string, why: string])[] = [
    ['appendonly', 'yes', 'tasks would be gone when it restarts'],
    ['maxmemory-policy', 'noeviction', 'it would drop tasks when its memory is full'],
    ['appendfsync', durability, `the durability that was declared is '${durability}'`],
  ];
  return wanted
    .filter(([name, value]) => settings.has(name) && settings.get(name) !== value)
    .map(([name, value, why]) => {
      const fix = `CONFIG SET ${name} ${value}`;
      return `${name} is '${settings.get(name)}', and ${why}: run '${fix}' and 'CONFIG REWRITE'`;
    });
}
