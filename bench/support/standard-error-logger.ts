import type { LogFields, Logger } from '../../src/base/logger.ts';

function write(message: string, fields: LogFields = {}): void {
  console.error(message, JSON.stringify(fields));
}

/** Errors and warnings on standard error, where a bench finds them when a server fails; nothing else. */
export const standardErrorLogger: Logger = {
  error: write,
  warning: write,
  info: () => {},
  debug: () => {},
  trace: () => {},
  enabled: level => level !== 'info' && level !== 'debug' && level !== 'trace',
};
