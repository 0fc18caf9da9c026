import type { Redis } from 'ioredis';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { ServerProblem } from './errors.ts';

/** Scripts with a first line that declares their flags (`#!lua flags=...`) exist since this version. */
const OLDEST_MAJOR = 7;

/** The required value of `appendfsync`. With `everysec`, about the last second can be lost when the power fails. */
export type Durability = 'always' | 'everysec';

/** Why a server must not be used as a database. */
export interface Unmet {
  readonly problem: Extract<ServerProblem, 'settings' | 'read_only'>;
  readonly text: string;
}

/**
 * Checks that a server keeps the data that is written to it: its version, its role and its settings. Managed services
 * forbid CONFIG; the settings are then not checked, and a warning names those that are needed.
 *
 * @returns what is wrong, each with the command that corrects it; empty if nothing is
 */
export async function unmetRequirements(
  server: Redis,
  durability: Durability,
  logger: Logger,
): Promise<Unmet[]> {
  const version = /redis_version:(\d+)[.\d]*/.exec(await server.info('server'));
  if (version !== null && Number(version[1]) < OLDEST_MAJOR) {
    const shown = version[0].slice('redis_version:'.length);
    return [unmet(`it is Redis ${shown}: use version ${OLDEST_MAJOR}.0 or later`)];
  }
  const role = /role:(\w+)/.exec(await server.info('replication'))?.[1];
  if (role === 'slave') return [unmet('it is a replica: the address must lead to the master', 'read_only')];
  let settings: Map<string, string>;
  try {
    settings = await settingsOf(server);
  } catch (failure) {
    logger.warning('Could not check the persistence settings of Redis; make sure that they keep tasks', {
      error: asError(failure).message,
      needed: `appendonly yes, appendfsync ${durability}, maxmemory-policy noeviction`,
    });
    return [];
  }
  return faultsOf(settings, durability).map(text => unmet(text));
}

function unmet(text: string, problem: Unmet['problem'] = 'settings'): Unmet {
  return { problem, text };
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

function faultsOf(settings: ReadonlyMap<string, string>, durability: Durability): string[] {
  const wanted: readonly (readonly [name: string, value: string, why: string])[] = [
    ['appendonly', 'yes', 'a restart would lose the tasks'],
    ['maxmemory-policy', 'noeviction', 'it would evict tasks when its memory is full'],
    ['appendfsync', durability, `the configured durability is '${durability}'`],
  ];
  return wanted
    .filter(([name, value]) => settings.has(name) && settings.get(name) !== value)
    .map(([name, value, why]) => {
      const fix = `CONFIG SET ${name} ${value}`;
      return `${name} is '${settings.get(name)}', and ${why}: run '${fix}' and 'CONFIG REWRITE'`;
    });
}
