/** Longer texts are cut, so that one fault cannot fill a log. */
const LONGEST_QUOTE = 80;

/** Characters that would break a line of a log or move a terminal's cursor. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text from a rule file as a fault shows it: short and on one line. */
export function printable(text: string, longest = LONGEST_QUOTE): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return short.replace(
    UNPRINTABLE,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same between quotes. */
export function quote(text: string): string {
  return `"${printable(text)}"`;
}
