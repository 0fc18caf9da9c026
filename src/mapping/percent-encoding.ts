const PERCENT = 0x25;
const PLUS = 0x2b;
const SLASH = 0x2f;
const SPACE = 0x20;

/** The value of a hexadecimal digit; -1 for any other byte. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** A slash that stays encoded has one spelling. */
const KEPT_SLASH = '%2F';

/** What a text is a part of. */
type Part = 'path' | 'parameter' | 'segment';

/**
 * Decodes a text. What is no encoding stays as it is, and what is not valid UTF-8 becomes U+FFFD.
 */
function decoded(text: string, part: Part): string {
  const bytes = Buffer.from(text);
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at];
    if (byte === PERCENT && at + 2 < bytes.length) {
      const high = digitOf(bytes[at + 1]);
      const low = digitOf(bytes[at + 2]);
      const value = high < 0 || low < 0 ? -1 : high * 16 + low;
      if (value === SLASH && part === 'path') {
        to += bytes.write(KEPT_SLASH, to);
        at += 2;
        continue;
      }
      if (value >= 0) {
        byte = value;
        at += 2;
      }
    } else if (part === 'parameter' && byte === PLUS) byte = SPACE;
    bytes[to++] = byte;
  }
  return bytes.toString('utf8', 0, to);
}

/** A path without percent-encoding, except that of slashes, which are part of a segment. */
export function decodedPath(path: string): string {
  return decoded(path, 'path');
}

/** The name or the value of a parameter of a query, as forms and programs read it: a plus sign is a space. */
export function decodedParameter(text: string): string {
  return text.includes('%') || text.includes('+') ? decoded(text, 'parameter') : text;
}

/** The name of a domain in a path. */
export function decodedSegment(text: string): string {
  return text.includes('%') ? decoded(text, 'segment') : text;
}
