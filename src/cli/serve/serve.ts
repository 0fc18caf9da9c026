import { randomUUID } from 'node:crypto';
import { logsDecisions } from '../../app/decision/engine-settings.ts';
import { IdleCollector, ownMemory } from '../../app/idle-collector.ts';
import { createLogger, type ProcessLogger } from '../../app/logging/logging.ts';
import { DecisionService, type StartedAt } from '../../app/service.ts';
import { loadSteeringStore } from '../../app/steering/open-steering.ts';
import { loadStoreFactory } from '../../app/stores/stores.ts';
import type { PrimaryThread } from '../../app/surroundings.ts';
import type { TasksShared } from '../../app/tasks/tasks-service.ts';
import { loadTracing } from '../../app/tracing/load-tracing.ts';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { packageVersion } from '../../base/package.ts';
import { SettingsRefused } from '../../settings/faults.ts';
import { describeSettings, loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/table.ts';
import { loadHttpEngine } from '../../transports/http/engine.ts';
import { parseFlags, refuseArguments } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { quickstartEnvironment } from './quickstart.ts';
import { reportFailure, reportReady, ServeFault } from './start-report.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const SERVE_FLAGS = {
  quickstart: { kind: 'switch', help: 'use the sample rules, and serve tasks' },
} as const;

/** How long the process may outlive the service. Libraries have calls that cannot be canceled, such as an export of spans. */
const AFTER_THE_END_MS = 1_000;

/** Runs the service until a signal ends it; the exit status is 0 after an orderly stop. */
export async function runServe(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parseFlags(args, SERVE_FLAGS);
  refuseArguments(positionals, ' All settings come from the environment.');
  try {
    return await serve(values.quickstart, io);
  } catch (failure) {
    reportFailure(io, failure);
    return EXIT.failed;
  } finally {
    io.supervisor?.leave();
    io.endWithin?.(AFTER_THE_END_MS);
  }
}

async function serve(quickstart: boolean, io: CliIo): Promise<number> {
  const settings = identified(
    readSettings(quickstart ? { ...quickstartEnvironment(io.env), ...io.env } : io.env),
  );
  const logger = createLogger({ level: settings.logLevel, format: settings.logFormat });
  for (const { message, fields } of settings.warnings) logger.warning(message, fields);
  logSettings(settings, logger);
  const release = watchProcess(logger);
  // The timers of the service do not keep the process alive, so this one does until a port is open.
  const alive = setInterval(() => {}, 2_147_483_647);
  const collector = new IdleCollector(systemClock, ownMemory());
  collector.start();
  try {
    const { at, stopped } = await startService(settings, logger, quickstart ? 'make' : 'refuse');
    if (at !== null) {
      reportReady(io, { settings, logger }, { at, quickstart });
      io.supervisor?.ready();
    }
    await stopped;
    return EXIT.done;
  } finally {
    collector.stop();
    clearInterval(alive);
    release();
  }
}

interface StartedService {
  /** Null if a signal arrived before the service had started. */
  readonly at: StartedAt | null;
  /** Resolves after a signal has shut down the service; rejects with a {@link ServeFault} if the shutdown failed. */
  readonly stopped: Promise<void>;
}

/** @throws ServeFault when it cannot start */
async function startService(
  settings: Settings,
  logger: ProcessLogger,
  missingKey: 'make' | 'refuse',
): Promise<StartedService> {
  try {
    const service = new DecisionService({
      settings,
      logger,
      clock: systemClock,
      random: Math.random,
      openTracing: await loadTracing(settings, { clock: systemClock, logger }),
      version: packageVersion(),
      httpEngine: await loadHttpEngine(settings, logger),
      createStore: await loadStoreFactory(settings),
      openDecisionLog: logsDecisions(settings) ? await loadDecisionLog(settings, logger) : null,
      openSteeringStore: await loadSteeringStore(settings),
      openTasks: settings.tasksEnabled ? await loadTasks(settings, missingKey) : null,
    });
    const stopped = stopOnSignal(service, logger);
    // `stop()` can fail before `start()` has finished. The rejection is handled later, by the caller of `stopped`.
    stopped.catch(() => {});
    return { at: await service.start(), stopped };
  } catch (failure) {
    throw new ServeFault('Sluice cannot start', failure);
  }
}

/** The decision log is loaded only if it is enabled. */
async function loadDecisionLog(settings: Settings, logger: ProcessLogger) {
  const { openDecisionLog } = await import('../../app/decision-log/decision-log.ts');
  return await openDecisionLog({ settings, clock: systemClock, logger }, logger.writeLine);
}

/** The task service is loaded only if it is enabled, because it takes memory and time at startup. */
async function loadTasks(settings: Settings, missingKey: 'make' | 'refuse') {
  const [{ TasksService }, { loadMasterKeys }, { loadTaskStoreFactory }] = await Promise.all([
    import('../../app/tasks/tasks-service.ts'),
    import('../../app/tasks/tasks-config.ts'),
    import('../../app/tasks/task-store.ts'),
  ]);
  const keys = await loadMasterKeys(settings, missingKey);
  const createStore = await loadTaskStoreFactory(settings);
  return (primary: PrimaryThread, shared: TasksShared) =>
    new TasksService(primary, keys, createStore, shared);
}

function readSettings(env: CliIo['env']): Settings {
  try {
    return loadSettings(env);
  } catch (refused) {
    if (refused instanceof SettingsRefused) throw new ServeFault('Sluice cannot start', refused);
    throw refused;
  }
}

/** Fills in the instance id of spans, which all threads use. */
function identified(settings: Settings): Settings {
  return { ...settings, tracingServiceInstanceId: settings.tracingServiceInstanceId || randomUUID() };
}

function logSettings(settings: Settings, logger: Logger): void {
  if (!logger.enabled('debug')) return;
  for (const { name, value, source } of describeSettings(settings))
    logger.debug('Setting', { name, value, source });
}

/** Resolves once the service has stopped after the first signal; a further one ends `SHUTDOWN_DELAY` early. */
function stopOnSignal(service: DecisionService, logger: Logger): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (stopping) {
          // The first call reports the result of the shutdown.
          service.stop().catch(() => {});
          return;
        }
        stopping = true;
        logger.info('Shutting down', { signal });
        service.stop().then(
          () => {
            logger.info('Shutdown complete');
            resolve();
          },
          failure => reject(new ServeFault('Sluice did not shut down cleanly', failure)),
        );
      });
    }
  });
}

/**
 * An unhandled rejection is a bug, but no reason to stop making decisions, so it is only logged. After an uncaught
 * exception the state is unknown, so the process exits and its supervisor starts another one.
 */
function watchProcess(logger: ProcessLogger): () => void {
  const rejected = (reason: unknown): void => {
    logger.error('Unhandled promise rejection (this is a bug; please report it)', {
      error: asError(reason).stack,
    });
  };
  const thrown = (failure: unknown): void => {
    logger.error('Uncaught exception; the process exits (this is a bug; please report it)', {
      error: asError(failure).stack,
    });
    void logger.written().then(() => process.exit(EXIT.failed));
  };
  process.on('unhandledRejection', rejected);
  process.on('uncaughtException', thrown);
  return () => {
    process.off('unhandledRejection', rejected);
    process.off('uncaughtException', thrown);
  };
}
