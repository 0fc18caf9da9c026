/** Extra fields of a log line. Never put secrets, payloads or credentials in them. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** Log levels, least to most severe, by the names that log lines carry. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What the rest of the program logs through. Formats and destinations: `src/app/logging/logging.ts`. */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
  /** True when lines of this level are written: ask before building a costly message. */
  enabled(level: LogLevel): boolean;
}
