import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { PortOperator } from '../../tasks/store/sqlite/engine/port-operator.ts';
import { SqliteStore } from '../../tasks/store/sqlite/engine/sqlite-store.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { SentFault } from '../../tasks/store/trouble.ts';

/** The task store as a thread other than the primary reaches it; not yet started. */
interface ThreadStore {
  readonly store: TaskStore;
  /** Takes a port to the thread with the file, or the reason why it could not be opened; see `PortOperator`. */
  readonly connect: (port: MessagePort) => void;
  readonly refused: (fault: SentFault) => void;
}

interface ThreadStoreParts {
  readonly settings: Settings;
  readonly stats: StatsRegistry;
  readonly logger: Logger;
  /** Called when there are operations and no port to the thread with the file. */
  readonly wanted: () => void;
  /** The one thread of the process that does the background work: it looks for lost hints, and watches the clock. */
  readonly background: boolean;
}

/**
 * Opens the store of the process over a connection of this thread. Loads only the code that this thread needs.
 *
 * @throws (rejects with) Error naming the setting, if a TLS file of Redis cannot be used
 */
export async function openThreadStore(parts: ThreadStoreParts): Promise<ThreadStore> {
  const { settings, stats, logger, wanted, background } = parts;
  if (settings.tasksStore === 'redis') {
    const { redisTaskStore } = await import('./redis-task-store.ts');
    const store = redisTaskStore(
      { settings, clock: systemClock, random: Math.random, logger },
      background ? {} : { sweepMs: null },
    );
    return { store, connect: port => port.close(), refused: () => {} };
  }
  const operator = new PortOperator(wanted);
  stats.gauge('tasks.store_waiting', () => operator.waiting);
  if (background) stats.gauge('tasks.clock_backsteps', () => operator.clockBacksteps);
  return {
    store: new SqliteStore(operator),
    connect: port => operator.connect(port),
    refused: fault => operator.refused(fault),
  };
}
