import type { LogFields, Logger, LogLevel } from '../logger.ts';

/** The message of every kind of thread with a line for the log of the process. */
export interface ThreadLog {
  readonly kind: 'log';
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** The logger of a thread. The thread that started it writes its lines. */
export class ThreadLogger implements Logger {
  readonly #levels: ReadonlySet<LogLevel>;
  readonly #post: (line: ThreadLog) => void;

  /** @param levels log levels that the process writes */
  constructor(levels: readonly LogLevel[], post: (line: ThreadLog) => void) {
    this.#levels = new Set(levels);
    this.#post = post;
  }

  error(message: string, fields?: LogFields): void {
    this.#line('error', message, fields);
  }

  warning(message: string, fields?: LogFields): void {
    this.#line('warning', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#line('info', message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#line('debug', message, fields);
  }

  trace(message: string, fields?: LogFields): void {
    this.#line('trace', message, fields);
  }

  enabled(level: LogLevel): boolean {
    return this.#levels.has(level);
  }

  #line(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (this.#levels.has(level)) this.#post({ kind: 'log', level, message, fields });
  }
}

/** Writes a line that a thread has sent. */
export function logLine(logger: Logger, { level, message, fields }: ThreadLog): void {
  if (level === 'warning' || level === 'info' || level === 'debug' || level === 'trace') {
    logger[level](message, fields);
  } else logger.error(message, fields);
}
