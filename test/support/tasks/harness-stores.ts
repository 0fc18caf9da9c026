import type { Test } from 'tap';
import type { RestConfig } from '../../../src/tasks/rest/http/parts.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../manual-clock.ts';
import type { PostgresServer } from '../postgres-server.ts';
import type { RedisServer } from '../redis-server.ts';
import { until } from '../until.ts';
import { postgresBackend } from './postgres-backend.ts';
import { HARNESS_START_MS } from './rest-harness.ts';
import { openedRedis, openedSqlite } from './stored-things.ts';
import { TaskHarness } from './task-harness.ts';

/** The whole REST service over a store. */
export interface StoredHarness {
  readonly rest: TaskHarness;
  /** Moves the clock on while nothing is asked of the store, until this is answered. */
  readonly whenAnswered: <T>(answer: Promise<T>) => Promise<T>;
}

export type OpenHarness = (t: Test, config?: Partial<RestConfig>) => Promise<StoredHarness>;

let prefixes = 0;

/**
 * All stores, each empty for each test, with the account `acme`. By the name of the store.
 *
 * @param postgres null where it is not installed
 */
export function harnessStores(
  redis: RedisServer,
  postgres: PostgresServer | null,
): Readonly<Record<string, OpenHarness>> {
  const open = async (
    store: TaskStore,
    clock: ManualClock,
    config: Partial<RestConfig> | undefined,
  ): Promise<StoredHarness> => {
    const asked = countedCalls(store);
    const rest = new TaskHarness(config, { clock, store: asked.store });
    rest.token = (await rest.signUp()).token;
    const whenAnswered = async <T>(answer: Promise<T>): Promise<T> => {
      let isAnswered = false;
      const done = () => {
        isAnswered = true;
      };
      answer.then(done, done);
      await until(() => {
        if (!isAnswered && asked.waiting() === 0 && clock.pending > 0) clock.advance(500);
        return isAnswered;
      });
      return answer;
    };
    return { rest, whenAnswered };
  };
  return {
    sqlite: async (t, config) => {
      const clock = new ManualClock(HARNESS_START_MS);
      const { store, close } = await openedSqlite(t).open(clock);
      t.teardown(close);
      return open(store, clock, config);
    },
    redis: async (t, config) => {
      const clock = new ManualClock(HARNESS_START_MS);
      const { store, close } = await openedRedis(redis, `harness${++prefixes}:`).open(clock);
      t.teardown(close);
      return open(store, clock, config);
    },
    ...(postgres !== null && {
      postgres: async (t: Test, config?: Partial<RestConfig>) => {
        const clock = new ManualClock(HARNESS_START_MS);
        const { store, close } = await postgresBackend('postgres', postgres).open(clock);
        t.teardown(close);
        return open(store, clock, config);
      },
    }),
  };
}

/** The store, and how many of its calls wait for their answer. */
function countedCalls(store: TaskStore): { readonly store: TaskStore; readonly waiting: () => number } {
  let waiting = 0;
  const counted = new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        waiting++;
        try {
          return await member.apply(store, args);
        } finally {
          waiting--;
        }
      };
    },
  });
  return { store: counted, waiting: () => waiting };
}
