import type { ByteWriter } from '../base/bytes.ts';
import { WIRE } from './wire.ts';

/**
 * Starts a text or message field of unknown length and leaves one byte for the length. Most fields are shorter than 128
 * bytes, so moving the content of longer ones is cheaper than measuring all of them first.
 *
 * @param field a field number below 16, so that the tag is one byte
 * @returns where the content starts, for {@link endLength}
 */
export function beginLength(writer: ByteWriter, field: number): number {
  writer.reserve(2);
  writer.bytes[writer.length] = (field << 3) | WIRE.bytes;
  writer.length += 2;
  return writer.length;
}

/** Fills in the length of the field whose content starts at `content`. */
export function endLength(writer: ByteWriter, content: number): void {
  const count = writer.length - content;
  if (count < 128) writer.bytes[content - 1] = count;
  else widenLength(writer, content, count);
}

/** Moves the content to make room for a length of more than one byte. */
function widenLength(writer: ByteWriter, content: number, count: number): void {
  let more = 0;
  for (let rest = count; rest > 127; rest >>>= 7) more++;
  writer.reserve(more);
  writer.bytes.copyWithin(content + more, content, content + count);
  writer.length = content - 1;
  writer.varint(count);
  writer.length += count;
}
