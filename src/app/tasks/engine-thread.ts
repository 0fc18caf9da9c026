import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger, LogLevel } from '../../base/logger.ts';
import { acceptMessages, type LastingTask } from '../../base/threads/inside-thread.ts';
import { threadAnswer } from '../../base/threads/questions.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import { PiscinaDeliveries } from '../../tasks/delivery/piscina-deliveries.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SIGNAL_NAMES, SignalPorts, Signals } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { WorkerNames } from '../../tasks/model/worker-names.ts';
import { AskedStartLimits, type LimitAsker } from '../../tasks/scheduler/attempts/start-limits.ts';
import type { NotReadyListener } from '../../tasks/scheduler/health/troubles.ts';
import { scheduleFirer } from '../../tasks/scheduler/schedules/schedule-firer.ts';
import { TasksEngine } from '../../tasks/scheduler/tasks-engine.ts';
import { WorkerBook } from '../../tasks/scheduler/workers/worker-book.ts';
import { type WorkerTester, WorkerTests } from '../../tasks/scheduler/workers/worker-tests.ts';
import { type MasterKeys, Sealer } from '../../tasks/sealing/sealer.ts';
import { Directory } from '../../tasks/store/directory.ts';
import { measuredStore } from '../../tasks/store/measured-store.ts';
import { StoreClock } from '../../tasks/store/store-clock.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import { UsageCounts } from '../../tasks/store/usage-counts.ts';
import { loadTracing } from '../tracing/load-tracing.ts';
import type { OtlpTracing } from '../tracing/otlp-tracing.ts';
import type { FromEngineThread, ToEngineThread } from './engine-messages.ts';
import { tenantLimits, workerModule } from './tasks-config.ts';
import { openReports } from './thread-reports.ts';
import { openThreadStore } from './thread-store.ts';
import { TracedDeliveries } from './traced-deliveries.ts';

/** The `workerData` of the thread with the task engine. */
export interface EngineThreadSetup {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  readonly delivery: DeliverySetup;
  /** Log levels that the process writes. */
  readonly logLevels: readonly LogLevel[];
}

/**
 * Does the background work of tasks in this thread, with a store and delivery threads of its own, from `begin` to
 * `drain` or `stop`.
 *
 * @returns resolves when all resources are released
 * @throws (rejects with) Error if the engine cannot be started
 */
export async function serveTasksEngine({ port }: LastingTask, setup: EngineThreadSetup): Promise<void> {
  const post = (message: FromEngineThread): void => port.postMessage(message);
  const { logger, stats, reporter } = openReports('tasks_engine', setup.logLevels, post);
  const signals = new Signals();
  const ports = new SignalPorts(signals, SIGNAL_NAMES);
  const { settings } = setup;
  const wanted = (): void => post({ kind: 'store_wanted' });
  const opened = await openThreadStore({ settings, stats, logger, wanted, background: true });
  const statistics = new TaskStatistics(stats, new WorkerNames(settings.tasksMetricsMaxWorkers));
  const usage = new UsageCounts();
  const store = measuredStore(opened.store, { statistics, nowMs: () => performance.now(), usage });
  const clock = new StoreClock({ store, clock: systemClock, monotonicMs: () => performance.now() });
  const limitAsker = new AskedStartLimits(post);
  const openTracing = await loadTracing(settings, { clock: systemClock, logger });
  const tracing = openTracing?.(stats) ?? null;
  const { engine, tester } = tasksEngine({
    ...{ setup, store, usage, clock, signals, limitAsker, statistics, stats, tracing, logger },
    notReady: (part, notReady) => post({ kind: 'not_ready', part, notReady }),
  });
  const stopped = Promise.withResolvers<void>();
  const begin = async (): Promise<void> => {
    await store.start();
    await clock.start();
    await engine.start();
    post({ kind: 'begun' });
  };
  let draining: Promise<void> | null = null;
  const drain = (): Promise<void> => {
    draining ??= engine.stop().then(() => post({ kind: 'drained' }));
    return draining;
  };
  acceptMessages<ToEngineThread>(port, message => {
    switch (message.kind) {
      case 'begin':
        begin().catch(failure => {
          // The drain has interrupted the start, so the failure is expected.
          if (draining !== null) return;
          post({ kind: 'not_begun', reason: asError(failure).message });
          stopped.reject(failure);
        });
        break;
      case 'store':
        opened.connect(message.port);
        break;
      case 'store_refused':
        opened.refused(message.fault);
        break;
      case 'signals':
        ports.connect(message.port);
        break;
      case 'test':
        void threadAnswer(() => tester.test(message.test)).then(answer =>
          post({ kind: 'tested', ask: message.ask, answer }),
        );
        break;
      case 'limit_answered':
        limitAsker.heard(message);
        break;
      case 'drain':
        drain().catch(stopped.reject);
        break;
      case 'stop':
        stopped.resolve();
    }
  });
  // The primary thread has closed the port.
  port.once('close', stopped.resolve);
  reporter.start();
  try {
    await stopped.promise;
    await drain();
  } finally {
    await clock.stop();
    await store.stop();
    await tracing?.stop();
    ports.flush();
    ports.close();
    reporter.stop();
    port.close();
  }
}

interface EngineParts {
  readonly setup: EngineThreadSetup;
  readonly store: TaskStore;
  /** What the store counts. */
  readonly usage: UsageCounts;
  /** The clock of the store. */
  readonly clock: Clock;
  readonly signals: Signals;
  readonly limitAsker: LimitAsker;
  readonly statistics: TaskStatistics;
  readonly stats: StatsRegistry;
  readonly notReady: NotReadyListener;
  /** Null if tracing is disabled. */
  readonly tracing: OtlpTracing | null;
  readonly logger: Logger;
}

function tasksEngine(parts: EngineParts): {
  readonly engine: TasksEngine;
  readonly tester: WorkerTester;
} {
  const { setup, store, usage, clock, signals, limitAsker, statistics, stats, tracing, logger } = parts;
  const { settings, keys, delivery } = setup;
  const common = {
    store,
    directory: new Directory(store, clock, signals),
    signals,
    sealer: new Sealer(keys),
    clock,
    random: Math.random,
    randomBytes,
    logger,
  };
  const limits = tenantLimits(settings);
  const ids = new IdMaker(() => clock.nowMs(), randomBytes);
  const threads = new PiscinaDeliveries({
    ...common,
    clock: systemClock,
    module: workerModule('deliver'),
    count: settings.tasksPushThreads,
    setup: delivery,
    lost: stats.counter('tasks.delivery_threads_lost'),
  });
  const deliveries = tracing === null ? threads : new TracedDeliveries(threads, tracing);
  const book = new WorkerBook({ ...common, limits });
  const tester = new WorkerTests({ ...common, book, deliveries, statistics });
  const engine = new TasksEngine({
    ...common,
    usage,
    deliveries,
    limitAsker,
    firer: workerDue =>
      scheduleFirer({
        ...common,
        ids,
        limits,
        workerDue,
        counters: { count: (result, by) => statistics.schedulesFired(result).add(by) },
      }),
    statistics,
    notReady: parts.notReady,
    options: {
      node: `${hostname()}-${process.pid}`,
      limits,
      pushSlots: settings.tasksPushConcurrency,
      drainMs: settings.tasksDrainTimeoutMs,
    },
  });
  return { engine, tester };
}
