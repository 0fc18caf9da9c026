import type { LogFields, Logger, LogLevel } from '../../base/logger.ts';

/** Writes a line of a thread to the log of the process. */
type WriteLine = (level: LogLevel, message: string, fields: LogFields | undefined) => void;

/** The logger of a thread. The primary thread writes its lines. */
export class ThreadLogger implements Logger {
  readonly #levels: ReadonlySet<LogLevel>;
  readonly #write: WriteLine;

  /** @param levels log levels that the process writes */
  constructor(levels: readonly LogLevel[], write: WriteLine) {
    this.#levels = new Set(levels);
    this.#write = write;
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
    if (this.#levels.has(level)) this.#write(level, message, fields);
  }
}

/** Writes a line that a thread has sent. */
export function logLine(logger: Logger, level: LogLevel, message: string, fields?: LogFields): void {
  if (level === 'warning' || level === 'info' || level === 'debug' || level === 'trace') {
    logger[level](message, fields);
  } else logger.error(message, fields);
}
