import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { asError } from '../../base/fault.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { type ThreadOperator, threadedSqliteStore } from '../../tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { RedisTaskStoreParts } from './redis-task-store.ts';

interface TaskStoreParts extends RedisTaskStoreParts {
  readonly stats: StatsRegistry;
}

/** The file of the tasks within their directory. */
const TASKS_FILE = 'tasks.db';

/** A store, and how other threads share it; `shared` is null if they have connections of their own. */
export interface OpenedTaskStore {
  readonly store: TaskStore;
  readonly shared: ThreadOperator | null;
}

/**
 * Makes the store that the settings ask for.
 * @throws Error naming the setting, when the directory cannot be made or a file for TLS cannot be used
 */
export type TaskStoreFactory = (parts: TaskStoreParts) => OpenedTaskStore;

/**
 * Loads the code of the store selected by the settings. The Redis client takes memory and startup time, which a file
 * does not need.
 */
export async function loadTaskStoreFactory({
  tasksStore,
}: Pick<Settings, 'tasksStore'>): Promise<TaskStoreFactory> {
  if (tasksStore !== 'redis') return sqliteStore;
  const { redisTaskStore } = await import('./redis-task-store.ts');
  // The thread with the engine looks for lost hints.
  return parts => ({ store: redisTaskStore(parts, { sweepMs: null }), shared: null });
}

function sqliteStore({ settings, stats, logger }: TaskStoreParts): OpenedTaskStore {
  const { tasksDataDirectory: directory, tasksSqliteSynchronous: synchronous } = settings;
  makeDataDirectory(directory);
  const { store, operator } = threadedSqliteStore({ path: join(directory, TASKS_FILE), synchronous }, logger);
  stats.gaugePart('tasks.store_waiting', () => operator.waiting);
  return { store, shared: operator };
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
