import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AuthFile } from '../../base/auth-file.ts';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { clusterEndpoints, redisEndpoint } from '../../settings/redis-address.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { REDIS_TASK_STORE_DEFAULTS, type RedisAddress } from '../../tasks/store/redis/options.ts';
import { RedisTaskStore } from '../../tasks/store/redis/redis-store.ts';
import { threadedSqliteStore } from '../../tasks/store/sqlite/open-store.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import { clientTls } from '../client-tls.ts';

export interface TaskStoreParts {
  readonly settings: Settings;
  readonly stats: StatsRegistry;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The file of the tasks within their directory. */
export const TASKS_FILE = 'tasks.db';

/**
 * The store that the settings ask for; the only place that knows which ones there are.
 * @throws Error naming the setting, when the directory cannot be made or a file for TLS cannot be used
 */
export function createTaskStore(parts: TaskStoreParts): TaskStore {
  return parts.settings.tasksStore === 'redis' ? redisStore(parts) : sqliteStore(parts);
}

function sqliteStore({ settings, stats, logger }: TaskStoreParts): TaskStore {
  const { tasksDataDirectory: directory, tasksSqliteSynchronous: synchronous } = settings;
  makeDataDirectory(directory);
  const { store, operator } = threadedSqliteStore({ path: join(directory, TASKS_FILE), synchronous }, logger);
  stats.gauge('tasks.store_waiting', () => operator.waiting);
  stats.gauge('tasks.clock_backsteps', () => operator.clockBacksteps);
  return store;
}

/**
 * Makes the directory of the tasks, for its owner only, where there is none.
 * @throws Error naming the setting
 */
export function makeDataDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new Error(
      `TASKS_DATA_DIRECTORY: '${directory}' cannot be made (${asError(cause).message}); name another directory`,
      { cause },
    );
  }
}

function redisStore({ settings, clock, random, logger }: TaskStoreParts): TaskStore {
  const { tasksRedisUrl: url, tasksRedisType: type } = settings;
  const endpoints =
    type === 'cluster'
      ? clusterEndpoints({ url, auth: '' })
      : [redisEndpoint({ socketType: url.startsWith('/') ? 'unix' : 'tcp', url, auth: '' })];
  const [{ username, password, database }] = endpoints;
  const tls = settings.tasksRedisTls
    ? clientTls(
        {
          certificate: '',
          key: '',
          ca: settings.tasksRedisTlsCaCert,
          skipHostnameVerification: false,
          settings: 'TASKS_REDIS_TLS',
        },
        { ca: 'TASKS_REDIS_TLS_CACERT', plain: 'set TASKS_REDIS_TLS=false' },
      )
    : null;
  return new RedisTaskStore({
    ...REDIS_TASK_STORE_DEFAULTS,
    type,
    addresses: endpoints.map(({ target }): RedisAddress => target),
    access: {
      ...(username !== '' && { username }),
      ...(password !== '' && { password }),
      ...(tls !== null && { tls: tls.options }),
      ...(type === 'single' && { db: database }),
    },
    authFile:
      settings.tasksRedisAuthFile === ''
        ? null
        : new AuthFile(settings.tasksRedisAuthFile, 'TASKS_REDIS_AUTH_FILE'),
    explain: tls === null ? reason => reason : tls.explain,
    keyPrefix: settings.tasksRedisKeyPrefix,
    durability: settings.tasksRedisDurability,
    timeoutMs: settings.tasksRedisTimeoutMs,
    clock,
    random,
    logger,
  });
}
