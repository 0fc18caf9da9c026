import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger, LogLevel } from '../../base/logger.ts';
import { type ThreadLog, ThreadLogger } from '../../base/threads/thread-log.ts';
import { StatsRegistry } from '../../stats/registry.ts';
import { type ThreadKind, ThreadPauses } from '../statistics/thread-pauses.ts';
import { type StatsChange, StatsReporter } from '../statistics/thread-stats.ts';

/** Messages that every thread of the task service sends to the primary thread. */
export type TasksThreadReport =
  | ThreadLog
  /** The changes of its statistics since the last message. */
  | { readonly kind: 'stats'; readonly stats: StatsChange };

interface ThreadReports {
  readonly logger: Logger;
  readonly stats: StatsRegistry;
  /** Started and stopped by the thread, together with its work. */
  readonly reporter: Pick<StatsReporter, 'start' | 'stop'>;
}

/**
 * Opens the log and the statistics of a thread, which the primary thread writes. From now on, unhandled promise
 * rejections are logged and do not end the thread.
 *
 * @param logLevels log levels that the process writes
 */
export function openReports(
  kind: ThreadKind,
  logLevels: readonly LogLevel[],
  post: (report: TasksThreadReport) => void,
): ThreadReports {
  const logger = new ThreadLogger(logLevels, post);
  process.on('unhandledRejection', reason =>
    logger.error('Unhandled promise rejection (this is a bug; please report it)', {
      error: asError(reason).stack,
    }),
  );
  const stats = new StatsRegistry();
  const changes = new StatsReporter(stats, systemClock, change => post({ kind: 'stats', stats: change }));
  const pauses = new ThreadPauses({ stats, kind, clock: systemClock });
  const reporter = {
    start() {
      pauses.start();
      changes.start();
    },
    stop() {
      pauses.stop();
      changes.stop();
    },
  };
  return { logger, stats, reporter };
}
