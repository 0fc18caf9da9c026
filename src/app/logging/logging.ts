import { pino } from 'pino';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type AuditLogger, LOG_LEVELS, type LogFields, type LogLevel } from '../../base/logger.ts';
import { HookedStream, LogOutput } from './log-output.ts';
import { textLine } from './log-text.ts';

export interface LoggerOptions {
  /** The least severe level that is written. */
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  /** Writes a line, which includes its line feed. Defaults to standard error ({@link StandardError}). */
  readonly write?: (line: string) => void;
  readonly clock?: Clock;
}

/** The levels of log lines. The other levels can only be thresholds. */
type WrittenLevel = 'trace' | 'debug' | 'info' | 'warning' | 'error';
type WriteLine = (level: WrittenLevel, message: string, fields: LogFields) => void;

/** Maximum length of a log line. Log shippers split or drop longer lines. */
const MAX_LINE_BYTES = 16 * 1024;

/** Bytes of a line for time, level, braces and the mark of a cut. */
const FRAME_BYTES = 256;

/** Bytes of a line that are reserved for the fields. */
const FIELDS_BYTES = 4 * 1024;

/** Maximum number of bytes of one UTF-16 code unit after escaping (`\u0000`) and encoding. */
const MAX_BYTES_PER_UNIT = 6;

const CUT_MARK = '…[cut]';

/** How long the process waits at its end for a slow reader of the log. */
const EXIT_PATIENCE_MS = 1_000;

/** The logger of the process. */
export interface ProcessLogger extends AuditLogger {
  /**
   * Writes a line with level `info`, even if the threshold is higher. For the few facts that every log must contain.
   */
  announce(message: string, fields: LogFields): void;
  /**
   * Writes a line of another format, which includes its line feed. Returns false if it is dropped, because standard error is
   * not being read.
   */
  writeLine(line: string): boolean;
  /** Resolves when all previous lines are written, or after one second. Await it before `process.exit`. */
  written(): Promise<void>;
}

/**
 * Creates the logger of the process. The line formats are those of envoyproxy/ratelimit, so log pipelines keep working.
 */
export function createLogger(options: LoggerOptions): ProcessLogger {
  const { level: threshold, format, clock = systemClock } = options;
  // This line ignores the threshold, because lines above the threshold were dropped.
  const output =
    options.write === undefined
      ? new StandardError(lines => writeLine('error', LINES_LOST, { lines }))
      : null;
  const write = (line: string): boolean => {
    if (output !== null) return output.write(line);
    options.write?.(line);
    return true;
  };
  const writeLine = format === 'json' ? jsonLines(write, clock) : textLines(write, clock);
  const bound = new RepeatBound(clock);
  const least = LOG_LEVELS.indexOf(threshold);
  const enabled = (level: LogLevel): boolean => LOG_LEVELS.indexOf(level) >= least;
  const at = (level: WrittenLevel) => {
    if (!enabled(level)) return () => {};
    // Operators who enable `debug` or `trace` want every line.
    const isBounded = level !== 'debug' && level !== 'trace';
    return (message: string, given: LogFields = {}) => {
      const suppressed = isBounded ? bound.admit(message) : 0;
      if (suppressed === null) return;
      const fields = suppressed === 0 ? given : { ...given, suppressedLines: suppressed };
      const text = cut(message, MAX_LINE_BYTES - FRAME_BYTES - FIELDS_BYTES);
      writeLine(level, text, lineFields(fields));
    };
  };
  return {
    error: at('error'),
    warning: at('warning'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled,
    announce: (message, fields) => writeLine('info', message, lineFields(fields)),
    audit: (message, fields) => writeLine('warning', message, lineFields(fields)),
    writeLine: write,
    written: async () => output?.written(),
  };
}

const LINES_LOST =
  'Log lines were dropped because standard error is not being read; read it faster or set LOG_LEVEL to write less';

/**
 * Writes to the descriptor of standard error, or to the hook that replaced `process.stderr.write`. Lines are written
 * immediately, and only the end of the process waits for the reader.
 */
class StandardError {
  // Accessing `process.stderr` makes the descriptor non-blocking if it is a pipe or a socket. Writes to files do not
  // block for long. A terminal blocks while its user has stopped it (Ctrl-S).
  readonly #descriptor: LogOutput;
  readonly #hooked: HookedStream;

  constructor(dropped: (lines: number) => void) {
    this.#descriptor = new LogOutput({ descriptor: process.stderr.fd, dropped });
    this.#hooked = new HookedStream(process.stderr, dropped);
    process.once('exit', () => {
      for (const line of this.#hooked.takeUnconfirmed()) this.#descriptor.write(line);
      this.#descriptor.flush(EXIT_PATIENCE_MS);
    });
  }

  /** Returns false if the line is dropped. */
  write(line: string): boolean {
    // The hook of a supervisor sends lines over the IPC channel, and fails if the channel is closed.
    const isCutOff = process.send !== undefined && !process.connected;
    return this.#hooked.isHooked && !isCutOff ? this.#hooked.write(line) : this.#descriptor.write(line);
  }

  written(): Promise<void> {
    return this.#hooked.written(EXIT_PATIENCE_MS);
  }
}

/** Writes one object per line: `level`, `@timestamp` (RFC 3339, UTC), `@message`, then the fields. */
function jsonLines(write: (line: string) => void, clock: Clock): WriteLine {
  const lines = pino(
    {
      level: 'trace',
      customLevels: { trace: 10, debug: 20, info: 30, warning: 40, error: 50 },
      useOnlyCustomLevels: true,
      base: null,
      formatters: { level: name => ({ level: name }) },
      timestamp: () => `,"@timestamp":"${new Date(clock.nowMs()).toISOString()}"`,
    },
    { write: (line: string) => write(escapeControls(line)) },
  );
  // The message is passed as the first field, because pino writes its own message last.
  return (level, message, fields) => lines[level]({ '@message': message, ...fields });
}

/**
 * Escapes DEL and the C1 controls, which terminals interpret, and the line separators, at which some readers end a line.
 * JSON allows all of them, and they occur only inside strings.
 */
function escapeControls(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function textLines(write: (line: string) => void, clock: Clock): WriteLine {
  return (level, message, fields) => write(textLine({ timeMs: clock.nowMs(), level, message, fields }));
}

/** Field names that are used by the line itself, in either format. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['level', '@timestamp', '@message', 'time', 'msg']);

/** Bytes of a field for quotation marks, separators and the prefix of a reserved name. */
const FIELD_FRAME_BYTES = 16;

/**
 * Returns the fields that fit into {@link FIELDS_BYTES}, in their order. The first field that does not fit is cut, and
 * the fields after it are dropped. Reserved names get a prefix, as in envoyproxy/ratelimit.
 */
function lineFields(fields: LogFields): LogFields {
  const kept: LogFields = {};
  let left = FIELDS_BYTES;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    left -= escapedBytes(name) + FIELD_FRAME_BYTES;
    if (left <= 0) break;
    const bounded = typeof value === 'string' ? cut(value, left) : value;
    kept[RESERVED_NAMES.has(name) ? `fields.${name}` : name] = bounded;
    left -= escapedBytes(String(bounded));
  }
  return kept;
}

/** Cuts a text to at most `maxBytes` in a line, in either format, and marks the cut. */
function cut(text: string, maxBytes: number): string {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes) return text;
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    bytes += unitBytes(text.charCodeAt(at));
    if (bytes > maxBytes) return `${text.slice(0, at).toWellFormed()}${CUT_MARK}`;
  }
  return text;
}

function escapedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) bytes += unitBytes(text.charCodeAt(at));
  return bytes;
}

/**
 * Maximum number of bytes of a UTF-16 code unit: 1 if neither format escapes it, else the length of the longest escape.
 */
function unitBytes(unit: number): number {
  const plain = unit >= 0x20 && unit < 0x7f && unit !== 0x22 && unit !== 0x5c;
  return plain ? 1 : MAX_BYTES_PER_UNIT;
}

/** Number of lines with the same message that may be written in a burst. */
const BURST_LINES = 200;

/** After a burst, one line per this time. */
const LINE_MS = 1_000;

/** Maximum number of messages that are tracked. The one that was logged longest ago is evicted. */
const MAX_MESSAGES = 500;

interface Allowance {
  lines: number;
  refilledMs: number;
  suppressed: number;
}

/**
 * Limits how often a message is logged, regardless of its fields: a burst of {@link BURST_LINES}, then one line a
 * second. A bug, or a caller that sends invalid requests, must not fill the disk or hide other lines.
 */
class RepeatBound {
  readonly #clock: Clock;
  readonly #allowances = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the number of suppressed lines with this message since the last one; null if this line is suppressed too.
   */
  admit(message: string): number | null {
    const allowance = this.#allowance(message);
    if (allowance.lines < 1) {
      allowance.suppressed++;
      return null;
    }
    const { suppressed } = allowance;
    allowance.lines--;
    allowance.suppressed = 0;
    return suppressed;
  }

  #allowance(message: string): Allowance {
    const nowMs = this.#clock.nowMs();
    const known = this.#allowances.get(message);
    if (known === undefined) {
      if (this.#allowances.size >= MAX_MESSAGES) {
        const [oldest] = this.#allowances.keys();
        this.#allowances.delete(oldest);
      }
      const allowance = { lines: BURST_LINES, refilledMs: nowMs, suppressed: 0 };
      this.#allowances.set(message, allowance);
      return allowance;
    }
    this.#allowances.delete(message);
    this.#allowances.set(message, known);
    // The clock may have been set back, which must not stop the refill.
    const elapsedMs = Math.abs(nowMs - known.refilledMs);
    known.lines = Math.min(BURST_LINES, known.lines + elapsedMs / LINE_MS);
    known.refilledMs = nowMs;
    return known;
  }
}
