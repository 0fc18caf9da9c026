import type { LogFields, LogLevel } from '../../base/logger.ts';

interface LogRecord {
  readonly timeMs: number;
  readonly level: LogLevel;
  readonly message: string;
  /** Contains no undefined values and no reserved names. */
  readonly fields: LogFields;
}

/** Formats one line: `time="2026-07-01T12:00:00+02:00" level=warning msg="two words" key=value`. */
export function textLine({ timeMs, level, message, fields }: LogRecord): string {
  const time = localRfc3339(new Date(timeMs));
  let line = `time=${quoted(time)} level=${level} msg=${quoted(message)}`;
  for (const [key, value] of Object.entries(fields)) {
    line += ` ${quoted(key)}=${quoted(String(value))}`;
  }
  return `${line}\n`;
}

/** Formats a time as RFC 3339 with seconds, in the local time zone; with `Z` if that is UTC. */
function localRfc3339(date: Date): string {
  const aheadMinutes = -date.getTimezoneOffset();
  const local = new Date(date.getTime() + aheadMinutes * 60_000).toISOString().slice(0, 19);
  if (aheadMinutes === 0) return `${local}Z`;
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.abs(aheadMinutes);
  const sign = aheadMinutes > 0 ? '+' : '-';
  return `${local}${sign}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

const PLAIN_TEXT = /^[A-Za-z0-9\-._/@^+]*$/;

/** Characters that are escaped within quotation marks: `"`, `\` and unprintable characters. */
const ESCAPED = /["\\]|[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Returns a plain text unchanged, and other texts quoted with Go's escapes, as parsers of this format expect. */
function quoted(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  return `"${text.toWellFormed().replace(ESCAPED, escaped)}"`;
}

function escaped(char: string): string {
  const short = SHORT_ESCAPES[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0)!;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
