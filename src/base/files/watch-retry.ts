import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { systemCode } from '../system-code.ts';

/** When watching fails, for instance for want of inotify watches, it is tried again after this time. */
const WATCH_RETRY_MS = 10_000;

/** Failures that trying again does not mend. */
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

interface WatchRetryOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Sets the watches again, and reads what may have changed without notice. */
  readonly again: () => void;
}

/** What the owner of a `DirectoryWatch` does about one that broke: it tells, and tries again after a while. */
export class WatchRetry {
  readonly #options: WatchRetryOptions;
  #timer: Timer | null = null;

  constructor(options: WatchRetryOptions) {
    this.#options = options;
  }

  /** However many places break at once, one timer runs. */
  broken(place: string, failure: Error): void {
    const { logger, clock, again } = this.#options;
    const forbidden = FORBIDDEN.has(systemCode(failure));
    const reason = failure.message;
    if (forbidden) {
      logger.warning(
        'Cannot watch a path, so changes may go unnoticed; let the user of this process read the path',
        { path: place, reason },
      );
      return;
    }
    logger.warning(
      'Cannot watch a path, so changes may go unnoticed; retrying. If this persists, raise fs.inotify.max_user_watches and max_user_instances',
      { path: place, reason, retryInMs: WATCH_RETRY_MS },
    );
    this.#timer ??= clock.after(WATCH_RETRY_MS, () => {
      this.#timer = null;
      again();
    });
  }

  /** Forgets the attempt that waits. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
