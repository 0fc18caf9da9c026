/** Maximum length of a line of a file of values, in characters. */
const LONGEST_LINE = 4_096;

/** A line of a file of values that has one, without spaces around it. */
export interface ValueLine {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/**
 * The lines of a file of values, one value each: without empty lines, and without those that begin with `#`.
 *
 * @param most maximum number of values. What follows them in the file is not read
 * @returns why the file cannot be used, and what to do, to be written after its name; or the lines
 */
export function valueLines(content: Uint8Array, most: number): readonly ValueLine[] | string {
  const text = decoded(content);
  if (text === null) return 'is not UTF-8: save it as UTF-8';
  const values: ValueLine[] = [];
  let line = 0;
  for (let start = 0, end: number; start < text.length && values.length < most; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    line++;
    if (end === start) continue;
    if (end - start > LONGEST_LINE)
      return `has more than ${LONGEST_LINE} characters in line ${line}: write one value on each line`;
    const value = text.slice(start, end).trim();
    if (value !== '' && !value.startsWith('#')) values.push({ text: value, line });
  }
  return values;
}

function decoded(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return null;
  }
}
