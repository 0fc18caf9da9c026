import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '../../../test/support/redis-server.ts';

/** Settings that turn tasks on, and what ends the store of the tasks. */
export interface TaskSettings {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Tasks in an empty store: a file below `folder`, or a Redis of their own. */
export async function taskSettings(store: 'sqlite' | 'redis', folder: string): Promise<TaskSettings> {
  const home = join(folder, `tasks-${randomBytes(4).toString('hex')}`);
  mkdirSync(home, { recursive: true });
  const redis =
    store === 'redis'
      ? await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'everysec'] })
      : null;
  return {
    env: {
      TASKS_ENABLED: 'true',
      SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
      TASKS_STORE: store,
      TASKS_DATA_DIRECTORY: home,
      ...(redis !== null && { TASKS_REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
    },
    stop: async () => redis?.stop(),
  };
}
