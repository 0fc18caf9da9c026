import { pino } from 'pino';
import { type Clock, systemClock } from '../../base/clock.ts';
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from '../../base/logger.ts';
import { HookedStream, LogOutput } from './log-output.ts';
import { textLine } from './log-text.ts';

export interface LoggerOptions {
  /** The least severe level that is written. */
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  /** Takes each line with its line feed. Default: standard error, without waiting for its reader ({@link StandardError}). */
  readonly write?: (line: string) => void;
  readonly clock?: Clock;
}

/** The levels that a {@link Logger} writes at; the others only name a threshold. */
type WrittenLevel = 'trace' | 'debug' | 'info' | 'warning' | 'error';
type WriteLine = (level: WrittenLevel, message: string, fields: LogFields) => void;

/** No line is longer, whatever is logged: a shipper would split it or drop it. */
const MAX_LINE_BYTES = 16 * 1024;

/** What a line takes beside message and fields: time, level, braces, the mark of a cut. */
const FRAME_BYTES = 256;

/** A long message leaves this much of the line to the fields. */
const FIELDS_BYTES = 4 * 1024;

/** Most bytes that one UTF-16 unit takes once escaped (`\u0000`) and encoded. */
const MAX_BYTES_PER_UNIT = 6;

const CUT_MARK = '…[cut]';

/** How long the end of the process waits for a reader that does not read. */
const EXIT_PATIENCE_MS = 1_000;

/** The logger of the process. */
export interface ProcessLogger extends Logger {
  /** Writes a line at level `info` whatever the threshold is: for the few facts that every log must contain. */
  announce(message: string, fields: LogFields): void;
  /** Resolves when all lines so far are written, or after one second. Await it before `process.exit`. */
  written(): Promise<void>;
}

/** Makes the program's logger. Lines look as the reference implementation writes them, so that log pipelines keep working. */
export function createLogger(options: LoggerOptions): ProcessLogger {
  const { level: threshold, format, clock = systemClock } = options;
  // Whatever the threshold: lines that it let through are missing.
  const output =
    options.write === undefined
      ? new StandardError(lines => writeLine('error', LINES_LOST, { lines }))
      : null;
  const write = options.write ?? (line => output?.write(line));
  const writeLine = format === 'json' ? jsonLines(write, clock) : textLines(write, clock);
  const bound = new RepeatBound(clock);
  const least = LOG_LEVELS.indexOf(threshold);
  const enabled = (level: LogLevel): boolean => LOG_LEVELS.indexOf(level) >= least;
  const at = (level: WrittenLevel) => {
    if (!enabled(level)) return () => {};
    // Who asks for the lower levels wants every line.
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
    written: async () => output?.written(),
  };
}

const LINES_LOST =
  'Log lines were dropped because standard error is not being read; read it faster or set LOG_LEVEL to write less';

/**
 * Standard error: its descriptor, or what has been put in place of its `write`. Lines are written at once, and nothing
 * waits for the reader except the end of the process.
 */
class StandardError {
  // To touch `process.stderr` makes the descriptor of a pipe or socket one that does not block. Files never do for
  // long; a terminal does when its user stops it (Ctrl-S).
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

  write(line: string): void {
    // The hook of a supervisor sends lines over the channel to it, and fails where the channel is closed.
    const isCutOff = process.send !== undefined && !process.connected;
    if (this.#hooked.isHooked && !isCutOff) this.#hooked.write(line);
    else this.#descriptor.write(line);
  }

  written(): Promise<void> {
    return this.#hooked.written(EXIT_PATIENCE_MS);
  }
}

/** One object per line: `level`, `@timestamp` (RFC 3339, UTC), `@message`, then the fields. */
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
  // The message is the first field instead of the library's message, which it would put last.
  return (level, message, fields) => lines[level]({ '@message': message, ...fields });
}

/** Escapes what JSON lets through and a terminal obeys: DEL and the C1 controls. They only occur inside texts. */
function escapeControls(line: string): string {
  return line.replace(/[\u007f-\u009f]/g, char => `\\u00${char.charCodeAt(0).toString(16)}`);
}

function textLines(write: (line: string) => void, clock: Clock): WriteLine {
  return (level, message, fields) => write(textLine({ timeMs: clock.nowMs(), level, message, fields }));
}

/** Names of the line's own parts, in either format. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['level', '@timestamp', '@message', 'time', 'msg']);

/** What a field takes beside name and value: quotation marks, separators, the prefix of a reserved name. */
const FIELD_FRAME_BYTES = 16;

/**
 * The fields as they go into a line: those that fit into {@link FIELDS_BYTES}, in their order. The first that does
 * not fit is cut, those after it are dropped. Reserved names get a prefix, as the reference implementation does.
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

/** Cuts the text so that it takes at most `maxBytes` in a line, in either format, and marks the cut. */
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

/** How many bytes a UTF-16 unit takes at most: one as it stands in both formats, else its longest escape. */
function unitBytes(unit: number): number {
  const plain = unit >= 0x20 && unit < 0x7f && unit !== 0x22 && unit !== 0x5c;
  return plain ? 1 : MAX_BYTES_PER_UNIT;
}

/** Lines of one message that are written without a pause. */
const BURST_LINES = 200;

/** After that, one in this time. */
const LINE_MS = 1_000;

/** Messages that are told apart. The one that was written longest ago gives way. */
const MAX_MESSAGES = 500;

interface Allowance {
  lines: number;
  refilledMs: number;
  suppressed: number;
}

/**
 * Bounds how often a message is logged, whatever its fields are: {@link BURST_LINES} at once, and one a second after that.
 * A defect, or a caller who sends nonsense, must not fill the disk or hide the other lines.
 */
class RepeatBound {
  readonly #clock: Clock;
  readonly #allowances = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many lines of this message were suppressed before this one; null when this one is suppressed as well. */
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
    // A clock that was set back must not stop the refill.
    const elapsedMs = Math.abs(nowMs - known.refilledMs);
    known.lines = Math.min(BURST_LINES, known.lines + elapsedMs / LINE_MS);
    known.refilledMs = nowMs;
    return known;
  }
}
