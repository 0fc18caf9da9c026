import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { asError } from '../../base/fault.ts';
import { acceptMessages, type LastingTask } from '../../base/threads/inside-thread.ts';
import { threadAnswer } from '../../base/threads/questions.ts';
import { workerModule } from '../../base/threads/same-build.ts';
import type { Settings } from '../../settings/table.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import { PiscinaDeliveries } from '../../tasks/delivery/piscina-deliveries.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SIGNAL_NAMES, SignalPorts, Signals } from '../../tasks/model/signals.ts';
import { AskedStartLimits } from '../../tasks/scheduler/attempts/start-limits.ts';
import { ScheduleFirer } from '../../tasks/scheduler/schedules/schedule-firer.ts';
import { TasksEngine } from '../../tasks/scheduler/tasks-engine.ts';
import { WorkerBook } from '../../tasks/scheduler/workers/worker-book.ts';
import { WorkerTests } from '../../tasks/scheduler/workers/worker-tests.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import { insideThread } from '../surroundings.ts';
import { loadTracing } from '../tracing/load-tracing.ts';
import type { FromEngineThread, ToEngineThread } from './engine-messages.ts';
import { openTasks } from './open-tasks.ts';
import { TracedDeliveries } from './traced-deliveries.ts';

/** The `workerData` of the thread with the task engine. */
export interface EngineThreadSetup {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  readonly delivery: DeliverySetup;
}

/**
 * Does the background work of tasks in this thread, with a store and delivery threads of its own, from `begin` to
 * `drain` or `stop`.
 *
 * @returns resolves when all resources are released
 * @throws (rejects with) Error if the engine cannot be started
 */
export async function serveTasksEngine(task: LastingTask, setup: EngineThreadSetup): Promise<void> {
  const { port } = task;
  const { settings, keys, delivery } = setup;
  const thread = insideThread<FromEngineThread>('tasks_engine', settings, task);
  const { stats, post, reporter } = thread;
  const signals = new Signals();
  const ports = new SignalPorts(signals, SIGNAL_NAMES);
  const opened = await openTasks(thread, signals, keys, true);
  const { tasks, usage } = opened;
  const { clock, statistics } = tasks;
  const limitAsker = new AskedStartLimits(post);
  const openTracing = await loadTracing(settings, thread);
  const tracing = openTracing?.(stats) ?? null;
  const lost = stats.counter('tasks.delivery_threads_lost');
  const threads = new PiscinaDeliveries(
    {
      ...thread,
      module: workerModule('deliver'),
      count: settings.tasksPushThreads,
      lost: () => lost.add(1),
    },
    delivery,
  );
  const deliveries = tracing === null ? threads : new TracedDeliveries(threads, tracing);
  const tester = new WorkerTests(tasks, new WorkerBook(tasks), deliveries);
  const ids = new IdMaker(() => clock.nowMs(), randomBytes);
  const counters = {
    count: (result: Parameters<typeof statistics.schedulesFired>[0], by: number) =>
      statistics.schedulesFired(result).add(by),
  };
  const engine = new TasksEngine({
    ...tasks,
    usage,
    deliveries,
    limitAsker,
    firer: workerDue => new ScheduleFirer({ ...tasks, ids }, counters, workerDue),
    notReady: (part, notReady) => post({ kind: 'not_ready', part, notReady }),
    options: {
      node: `${hostname()}-${process.pid}`,
      pushSlots: settings.tasksPushConcurrency,
      drainMs: settings.tasksDrainTimeoutMs,
    },
  });
  const stopped = Promise.withResolvers<void>();
  const begin = async (): Promise<void> => {
    await opened.start();
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
    await opened.stop();
    await tracing?.stop();
    ports.flush();
    ports.close();
    reporter.stop();
    port.close();
  }
}
