import type { LogFields, LogLevel } from '../../base/logger.ts';

interface LogRecord {
  readonly timeMs: number;
  readonly level: LogLevel;
  readonly message: string;
  /** Without undefined values and without names that the line itself uses. */
  readonly fields: LogFields;
}

/** One line of the text format: `time="2026-07-01T12:00:00+02:00" level=warning msg="two words" key=value`. */
export function textLine({ timeMs, level, message, fields }: LogRecord): string {
  const time = localRfc3339(new Date(timeMs));
  let line = `time=${quoted(time)} level=${level} msg=${quoted(message)}`;
  for (const [key, value] of Object.entries(fields)) {
    line += ` ${quoted(key)}=${quoted(String(value))}`;
  }
  return `${line}\n`;
}

/** RFC 3339 with seconds, in the local time zone; `Z` where that is UTC. */
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

/** What must not stand as it is between quotation marks: `"`, `\`, and whatever prints nothing. */
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

/** The text itself when it is plain, else in quotation marks with Go's escapes: what parsers of this format expect. */
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
