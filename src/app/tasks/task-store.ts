import { join } from 'node:path';
import { asError } from '../../base/fault.ts';
import { makeDirectory } from '../../base/files/make-directory.ts';
import type { Settings } from '../../settings/table.ts';
import { type ThreadOperator, threadedSqliteStore } from '../../tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { Surroundings } from '../surroundings.ts';

/** Name of the SQLite file in the data directory. */
const TASKS_FILE = 'tasks.db';

/** A store, and how other threads use it; `shared` is null if other threads have connections of their own. */
interface OpenedTaskStore {
  readonly store: TaskStore;
  readonly shared: ThreadOperator | null;
}

/**
 * Creates the task store selected by the settings.
 *
 * @throws Error that names the setting, if the directory cannot be created or a TLS file cannot be used
 */
export type TaskStoreFactory = (thread: Surroundings) => OpenedTaskStore;

/**
 * Loads the code of the store selected by the settings. The clients of servers take memory and startup time, which a file
 * does not need.
 */
export async function loadTaskStoreFactory({
  tasksStore,
}: Pick<Settings, 'tasksStore'>): Promise<TaskStoreFactory> {
  if (tasksStore === 'sqlite') return sqliteStore;
  if (tasksStore === 'postgres') {
    const { postgresTaskStore } = await import('./postgres-task-store.ts');
    return thread => ({ store: postgresTaskStore(thread), shared: null });
  }
  const { redisTaskStore } = await import('./redis-task-store.ts');
  // The thread with the engine looks for lost hints.
  return thread => ({ store: redisTaskStore(thread, { sweepMs: null }), shared: null });
}

function sqliteStore({ settings, stats, logger }: Surroundings): OpenedTaskStore {
  const { tasksDataDirectory: directory, tasksSqliteSynchronous: synchronous } = settings;
  makeDataDirectory(directory, 'TASKS_DATA_DIRECTORY');
  const { store, operator } = threadedSqliteStore({ path: join(directory, TASKS_FILE), synchronous }, logger);
  stats.gaugePart('tasks.store_waiting', () => operator.waiting);
  return { store, shared: operator };
}

/**
 * Creates a directory for data, accessible only to its owner, if it does not exist.
 *
 * @param setting the setting that names the directory, or a file in it
 * @throws Error that names the setting
 */
export function makeDataDirectory(directory: string, setting: string): void {
  try {
    makeDirectory(directory);
  } catch (cause) {
    throw new Error(
      `${setting}: the directory '${directory}' cannot be created: ${asError(cause).message}; set another path`,
      { cause },
    );
  }
}
