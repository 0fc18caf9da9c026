import type { ByteWriter } from '../base/bytes.ts';

/** Longer values are cut off: they become parts of cache keys. */
const MAX_VALUE = 1_024;

const LAST_ASCII = 0x7f;

/** Appends a text in UTF-8, at most its first {@link MAX_VALUE} characters. */
export function writeValue(writer: ByteWriter, text: string): void {
  const count = text.length < MAX_VALUE ? text.length : MAX_VALUE;
  const start = writer.length;
  writer.reserve(count);
  const { bytes } = writer;
  for (let i = 0; i < count; i++) {
    const code = text.charCodeAt(i);
    if (code > LAST_ASCII) {
      writer.length = start;
      writer.text(text.slice(0, count));
      return;
    }
    bytes[start + i] = code;
  }
  writer.length = start + count;
}

/** Whether a text has characters that are not ASCII. */
function hasOthers(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > LAST_ASCII) return true;
  return false;
}

/**
 * The text of bytes that stand for one character each, as Node.js passes them on: they are UTF-8 if they are not ASCII. What
 * is not valid UTF-8 becomes U+FFFD.
 */
export function unicodeOf(bytes: string): string {
  return hasOthers(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
