import type { Clock, Timer } from './clock.ts';

/** Extra fields of a log line. Never put secrets, payloads or credentials in them. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/** Names of the log levels in log lines, from least to most severe. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The interface through which all code logs. `src/app/logging/logging.ts` has the formats and destinations. */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
  /** True if lines of this level are written. Check it before building an expensive message. */
  enabled(level: LogLevel): boolean;
}

/** A logger that also writes the lines of an audit. */
export interface AuditLogger extends Logger {
  /** Writes a line with level `warning`, even if the threshold is higher, and however often the message is logged. */
  audit(message: string, fields: LogFields): void;
}

/** Delay between the first counted event and the warning. Events during the delay are included in the count. */
const GATHERED_MS = 1_000;

/** A warning about events that can be very frequent: at most one line per second, with the number of events. */
export class CountedWarning {
  readonly #parts: { readonly log: Logger; readonly clock: Clock };
  readonly #message: string;
  readonly #fields: LogFields;
  #last: LogFields = {};
  #count = 0;
  #timer: Timer | null = null;

  /** @param fields fields of each line, in addition to `count` */
  constructor(
    parts: { readonly log: Logger; readonly clock: Clock },
    message: string,
    fields: LogFields = {},
  ) {
    this.#parts = parts;
    this.#message = message;
    this.#fields = fields;
  }

  /**
   * Counts one event.
   * @param last fields that the line has if this event is the last one that it counts
   */
  add(last: LogFields = {}): void {
    this.#last = last;
    this.#count++;
    this.#timer ??= this.#parts.clock.after(GATHERED_MS, () => this.flush());
  }

  /** Writes the pending count, if any. The owner calls this when it shuts down. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#count === 0) return;
    this.#parts.log.warning(this.#message, { count: this.#count, ...this.#fields, ...this.#last });
    this.#count = 0;
  }
}
