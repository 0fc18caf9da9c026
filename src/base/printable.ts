/**
 * Control characters (C0, DEL, C1) and the line separators U+2028 and U+2029. They can split a log line or control the
 * terminal that shows it.
 */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Replaces unprintable characters with `\uXXXX`. Use it for text from services, files and users. */
export function printable(text: string): string {
  return text.replace(
    UNPRINTABLE,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Maximum number of UTF-16 code units of an {@link excerpt}. */
const EXCERPT_LENGTH = 80;

/** Returns the printable beginning of a text, so that one error message cannot fill a log. */
export function excerpt(text: string, length = EXCERPT_LENGTH): string {
  return printable(text.length > length ? `${text.slice(0, length)}…` : text);
}

/** An {@link excerpt} in double quotes. */
export function quote(text: string): string {
  return `"${excerpt(text)}"`;
}
