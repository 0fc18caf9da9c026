import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { storeOf } from '../../tasks/store/operations.ts';
import { PortOperator } from '../../tasks/store/sqlite/engine/port-operator.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { SentFault } from '../../tasks/store/trouble.ts';

/** The task store in a thread other than the primary thread; not yet started. */
interface ThreadStore {
  readonly store: TaskStore;
  /** Receives a port to the store thread, or the reason why the file could not be opened; see `PortOperator`. */
  readonly connect: (port: MessagePort) => void;
  readonly refused: (fault: SentFault) => void;
}

interface ThreadStoreParts {
  readonly settings: Settings;
  readonly stats: StatsRegistry;
  readonly logger: Logger;
  /** Called when there are operations but no port to the store thread. */
  readonly wanted: () => void;
  /** True in the one thread that does the background work: it sweeps lost hints and monitors the clock. */
  readonly background: boolean;
}

/**
 * Opens the task store in this thread. Loads only the code that this thread needs.
 *
 * @throws (rejects with) Error that names the setting, if a TLS file of Redis cannot be used
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
    store: storeOf('sqlite', operator),
    connect: port => operator.connect(port),
    refused: fault => operator.refused(fault),
  };
}
