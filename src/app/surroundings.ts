import type { Transferable } from 'node:worker_threads';
import { type Clock, systemClock } from '../base/clock.ts';
import { asError } from '../base/fault.ts';
import type { Health } from '../base/health.ts';
import type { AuditLogger, Logger } from '../base/logger.ts';
import type { OutageLog } from '../base/outage-log.ts';
import type { LastingTask } from '../base/threads/inside-thread.ts';
import { type ThreadLog, ThreadLogger } from '../base/threads/thread-log.ts';
import type { Settings } from '../settings/table.ts';
import { StatsRegistry } from '../stats/registry.ts';
import { type ThreadKind, ThreadPauses } from '../stats/thread-pauses.ts';
import { StatsReporter, type ThreadStats } from '../stats/thread-stats.ts';
import type { HttpEngine } from '../transports/http/listener.ts';

/** What almost every part of a thread uses. */
export interface Surroundings {
  readonly settings: Settings;
  /** The statistics of the thread. */
  readonly stats: StatsRegistry;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** What parts of the primary thread use beside that. */
export interface PrimaryThread extends Surroundings {
  readonly logger: AuditLogger;
  /** The health of the process. */
  readonly health: Health;
  readonly outages: OutageLog;
  /** The engine of all HTTP ports. */
  readonly httpEngine: HttpEngine;
  /** The version of the program. */
  readonly version: string;
}

/** The surroundings in a thread other than the primary thread, which writes its log and adds up its statistics. */
export interface ThreadSurroundings<From> extends Surroundings {
  /** Sends a message to the thread that started this one. */
  readonly post: (message: From, transfer?: readonly Transferable[]) => void;
  /** Reports the statistics of the thread. The thread starts and stops it together with its work. */
  readonly reporter: Pick<StatsReporter, 'start' | 'requested' | 'stop'>;
}

/**
 * Opens the log and the statistics of a thread. From now on, unhandled promise rejections are logged and do not end the
 * thread: they are bugs, but no reason to stop its work.
 *
 * @param others makes messages about what the thread counts beside its statistics
 */
export function insideThread<From>(
  kind: ThreadKind,
  settings: Settings,
  { port, logLevels }: LastingTask,
  others?: () => Iterable<From>,
): ThreadSurroundings<From> {
  const post = (message: From | ThreadLog | ThreadStats, transfer: readonly Transferable[] = []): void =>
    port.postMessage(message, transfer);
  const logger = new ThreadLogger(logLevels, post);
  process.on('unhandledRejection', reason =>
    logger.error('Unhandled promise rejection (this is a bug; please report it)', {
      error: asError(reason).stack,
    }),
  );
  const clock = systemClock;
  const stats = new StatsRegistry();
  const changes = new StatsReporter<From>(stats, clock, post, others);
  const pauses = new ThreadPauses(stats, kind, clock);
  const reporter: ThreadSurroundings<From>['reporter'] = {
    start() {
      pauses.start();
      changes.start();
    },
    requested: reported => changes.requested(reported),
    stop() {
      pauses.stop();
      changes.stop();
    },
  };
  return { settings, stats, clock, random: Math.random, logger, post, reporter };
}
