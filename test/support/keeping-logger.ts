import type { AuditLogger, LogFields } from '../../src/base/logger.ts';

/** One line that was logged. */
export interface LoggedLine {
  readonly level: 'error' | 'warning' | 'info' | 'debug' | 'trace';
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that keeps what it is told, at every level. */
export class KeepingLogger implements AuditLogger {
  readonly lines: LoggedLine[] = [];

  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields });
  }
  warning(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warning', message, fields });
  }
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields });
  }
  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields });
  }
  trace(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'trace', message, fields });
  }
  audit(message: string, fields: LogFields): void {
    this.warning(message, fields);
  }
  enabled(): boolean {
    return true;
  }

  /** Lines of one level, in order. */
  at(level: LoggedLine['level']): LoggedLine[] {
    return this.lines.filter(line => line.level === level);
  }

  /** Messages of one level, in order. */
  messages(level: LoggedLine['level']): string[] {
    return this.at(level).map(line => line.message);
  }
}
