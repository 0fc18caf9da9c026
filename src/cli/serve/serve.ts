import { IdleCollector, ownMemory } from '../../app/idle-collector.ts';
import { createLogger, type ProcessLogger } from '../../app/logging/logging.ts';
import { DecisionService, type StartedAt } from '../../app/service.ts';
import { loadStoreFactory } from '../../app/stores/stores.ts';
import type { TasksShared } from '../../app/tasks/tasks-service.ts';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { SettingsRefused } from '../../settings/faults.ts';
import { describeSettings, loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/table.ts';
import { loadHttpEngine } from '../../transports/http/engine.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { packageVersion } from '../terminal/version.ts';
import { quickstartEnvironment } from './quickstart.ts';
import { reportFailure, reportReady, ServeFault } from './start-report.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const SERVE_FLAGS = {
  quickstart: { kind: 'switch', help: 'use the sample rules, and serve tasks' },
} as const;

/** How long the process may outlive the service: libraries keep calls that nobody can end, such as one to a collector. */
const AFTER_THE_END_MS = 1_000;

/** Runs the service until a signal ends it; the exit status is 0 after an orderly stop. */
export async function runServe(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parseFlags(args, SERVE_FLAGS);
  if (positionals.length > 0) {
    throw new UsageFault(`unexpected argument "${positionals[0]}". All settings come from the environment.`);
  }
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
  const settings = readSettings(quickstart ? { ...quickstartEnvironment(io.env), ...io.env } : io.env);
  const logger = createLogger({ level: settings.logLevel, format: settings.logFormat });
  for (const { message, fields } of settings.warnings) logger.warning(message, fields);
  logSettings(settings, logger);
  const release = watchProcess(logger);
  // Timers of the service do not keep a process alive, and before a port is open nothing else might.
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
  /** Null when a signal came before the service had started. */
  readonly at: StartedAt | null;
  /** Resolves after the orderly stop that a signal brings about; rejects with a {@link ServeFault} when it was none. */
  readonly stopped: Promise<void>;
}

/** @throws ServeFault when it cannot start */
async function startService(
  settings: Settings,
  logger: Logger,
  missingKey: 'make' | 'refuse',
): Promise<StartedService> {
  try {
    const tracing = settings.tracingEnabled ? await openTracing(settings, logger) : null;
    const service = new DecisionService({
      settings,
      logger,
      clock: systemClock,
      random: Math.random,
      tracing,
      httpEngine: await loadHttpEngine(settings, logger),
      createStore: await loadStoreFactory(settings),
      openTasks: settings.tasksEnabled ? await loadTasks(settings, logger, missingKey) : null,
    });
    const stopped = stopOnSignal(service, logger);
    // A stop that fails before the start has ended is nobody's yet; it is told to whoever waits later.
    stopped.catch(() => {});
    return { at: await service.start(), stopped };
  } catch (failure) {
    throw new ServeFault('Sluice cannot start', failure);
  }
}

/** The library of OpenTelemetry is loaded only here: it takes memory and time at start. */
async function openTracing(settings: Settings, logger: Logger) {
  const { OtlpTracing } = await import('../../app/tracing.ts');
  return await OtlpTracing.open({ settings, clock: systemClock, logger });
}

/** The task service is loaded only here, for the same reason. */
async function loadTasks(settings: Settings, logger: Logger, missingKey: 'make' | 'refuse') {
  const [{ TasksService }, { loadMasterKeys }, { loadTaskStoreFactory }] = await Promise.all([
    import('../../app/tasks/tasks-service.ts'),
    import('../../app/tasks/tasks-config.ts'),
    import('../../app/tasks/task-store.ts'),
  ]);
  const keys = await loadMasterKeys(settings, missingKey);
  const parts = {
    settings,
    keys,
    createStore: await loadTaskStoreFactory(settings),
    version: packageVersion(),
    clock: systemClock,
    random: Math.random,
    logger,
  };
  return (shared: TasksShared) => new TasksService(parts, shared);
}

function readSettings(env: CliIo['env']): Settings {
  try {
    return loadSettings(env);
  } catch (refused) {
    if (refused instanceof SettingsRefused) throw new ServeFault('Sluice cannot start', refused);
    throw refused;
  }
}

function logSettings(settings: Settings, logger: Logger): void {
  if (!logger.enabled('debug')) return;
  for (const { name, value, source } of describeSettings(settings))
    logger.debug('setting', { name, value, source });
}

/** Resolves once the service has stopped after the first signal; a further one ends `SHUTDOWN_DELAY` early. */
function stopOnSignal(service: DecisionService, logger: Logger): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (stopping) {
          // The first call passes on how the stop went.
          service.stop().catch(() => {});
          return;
        }
        stopping = true;
        logger.info('stopping', { signal });
        service.stop().then(
          () => {
            logger.info('stopped');
            resolve();
          },
          failure => reject(new ServeFault('Sluice did not shut down cleanly', failure)),
        );
      });
    }
  });
}

/**
 * A promise that nobody waited for is a defect, but no reason to stop deciding: it is logged with its origin. After
 * an exception that nobody caught the state is unknown, so the process ends and its supervisor starts another.
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
