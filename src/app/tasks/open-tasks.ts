import { randomBytes } from 'node:crypto';
import type { MessagePort } from 'node:worker_threads';
import type { Service } from '../../base/lifecycle.ts';
import type { Signals } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { WorkerNames } from '../../tasks/model/worker-names.ts';
import type { LinkRequest } from '../../tasks/rest/threads/thread-links.ts';
import type { TasksThread } from '../../tasks/scheduler/thread/tasks-thread.ts';
import { type MasterKeys, Sealer } from '../../tasks/sealing/sealer.ts';
import { Directory } from '../../tasks/store/directory.ts';
import { measuredStore } from '../../tasks/store/measured-store.ts';
import { storeOf } from '../../tasks/store/operations.ts';
import { PortOperator } from '../../tasks/store/sqlite/engine/port-operator.ts';
import { StoreClock } from '../../tasks/store/store-clock.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { SentFault } from '../../tasks/store/trouble.ts';
import { UsageCounts } from '../../tasks/store/usage-counts.ts';
import type { ThreadSurroundings } from '../surroundings.ts';
import { tenantLimits } from './tasks-config.ts';

/** The task store in a thread other than the primary thread. */
interface ThreadStore {
  readonly store: TaskStore;
  /** Receives a port to the store thread, or the reason why the file could not be opened; see `PortOperator`. */
  readonly connect: (port: MessagePort) => void;
  readonly refused: (fault: SentFault) => void;
}

/** What a thread of the task service is made of. It is started when the thread can receive a port to the store. */
interface OpenedTasks extends Service, Pick<ThreadStore, 'connect' | 'refused'> {
  readonly tasks: TasksThread;
  /** What the store counts. */
  readonly usage: UsageCounts;
}

/**
 * Opens the task service in this thread.
 *
 * @param background true in the one thread that does the background work: it sweeps lost hints and monitors the clock
 * @throws (rejects with) Error that names the setting, if a TLS file of Redis cannot be used
 */
export async function openTasks(
  thread: ThreadSurroundings<LinkRequest>,
  signals: Signals,
  keys: MasterKeys,
  background: boolean,
): Promise<OpenedTasks> {
  const { settings, stats, random, logger } = thread;
  const { store: opened, connect, refused } = await openThreadStore(thread, background);
  const statistics = new TaskStatistics(stats, new WorkerNames(settings.tasksMetricsMaxWorkers));
  const usage = new UsageCounts();
  const store = measuredStore(opened, { statistics, nowMs: () => performance.now(), usage });
  const clock = new StoreClock(store, thread.clock, () => performance.now());
  const directory = new Directory(store, clock, signals);
  const sealer = new Sealer(keys);
  const limits = tenantLimits(settings);
  return {
    name: 'task store',
    tasks: { store, directory, signals, sealer, statistics, limits, clock, random, randomBytes, logger },
    usage,
    connect,
    refused,
    async start() {
      await store.start();
      await clock.start();
    },
    async stop() {
      await clock.stop();
      await store.stop();
    },
  };
}

/** Loads only the code that this thread needs. */
async function openThreadStore(
  thread: ThreadSurroundings<LinkRequest>,
  background: boolean,
): Promise<ThreadStore> {
  const { settings, stats, post } = thread;
  if (settings.tasksStore === 'redis') {
    const { redisTaskStore } = await import('./redis-task-store.ts');
    const store = redisTaskStore(thread, background ? {} : { sweepMs: null });
    return { store, connect: port => port.close(), refused: () => {} };
  }
  if (settings.tasksStore === 'postgres') {
    const { postgresTaskStore } = await import('./postgres-task-store.ts');
    return { store: postgresTaskStore(thread), connect: port => port.close(), refused: () => {} };
  }
  const operator = new PortOperator(() => post({ kind: 'store_wanted' }));
  stats.gauge('tasks.store_waiting', () => operator.waiting);
  if (background) stats.gauge('tasks.clock_backsteps', () => operator.clockBacksteps);
  return {
    store: storeOf('sqlite', operator),
    connect: port => operator.connect(port),
    refused: fault => operator.refused(fault),
  };
}
