import type { LogFields, Logger, LogLevel } from '../../base/logger.ts';
import { printable } from '../../base/printable.ts';
import type { CliIo } from '../terminal/io.ts';

/** What a store logs while a command uses it: warnings and errors, on standard error. */
export class StoreLog implements Logger {
  readonly #io: Pick<CliIo, 'stderr'>;

  constructor(io: Pick<CliIo, 'stderr'>) {
    this.#io = io;
  }

  error(message: string, fields?: LogFields): void {
    this.#write(message, fields);
  }

  warning(message: string, fields?: LogFields): void {
    this.#write(message, fields);
  }

  info(): void {}

  debug(): void {}

  trace(): void {}

  enabled(level: LogLevel): boolean {
    return level !== 'info' && level !== 'debug' && level !== 'trace';
  }

  #write(message: string, fields: LogFields = {}): void {
    const parts = Object.entries(fields).map(([name, value]) => ` ${name}=${value}`);
    this.#io.stderr(`${printable(message + parts.join(''))}\n`);
  }
}
