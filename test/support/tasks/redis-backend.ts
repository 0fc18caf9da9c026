import { systemClock } from '../../../src/base/clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import type { RedisAddress } from '../../../src/clients/redis/address.ts';
import {
  REDIS_TASK_STORE_DEFAULTS,
  type RedisTaskStoreOptions,
} from '../../../src/tasks/store/redis/connection/options.ts';
import { RedisTaskStore } from '../../../src/tasks/store/redis/redis-store.ts';
import type { Backend } from '../../exam/task-store/scene.ts';
import { KeepingLogger } from '../keeping-logger.ts';

/** How a server must be set to keep tasks. */
export const TASK_SERVER_ARGS = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];

export interface RedisTaskStoreSetting extends Partial<RedisTaskStoreOptions> {
  readonly logger?: Logger;
}

/** A store, not started, over servers on loopback. */
export function redisTaskStore(
  servers: readonly { readonly port: number }[],
  options: RedisTaskStoreSetting = {},
): RedisTaskStore {
  const addresses: RedisAddress[] = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
  return new RedisTaskStore({
    ...REDIS_TASK_STORE_DEFAULTS,
    type: servers.length === 1 ? 'single' : 'cluster',
    addresses,
    clock: systemClock,
    logger: new KeepingLogger(),
    sweepMs: null,
    ...options,
  });
}

let opened = 0;

/** A backend of the exam: each store that is opened has a prefix of its own unless it is given, and so begins empty. */
export function redisBackend(
  name: string,
  servers: readonly { readonly port: number }[],
  prefix?: string,
): Backend {
  return {
    name,
    async open(time) {
      const keyPrefix = prefix ?? `exam${++opened}:`;
      const start = async () => {
        const store = redisTaskStore(servers, { keyPrefix, time });
        await store.start();
        return store;
      };
      let store = await start();
      return {
        store,
        close: () => store.stop(),
        reopen: async () => {
          await store.stop();
          store = await start();
          return store;
        },
        lookAround: () => store.sweep(),
      };
    },
  };
}
