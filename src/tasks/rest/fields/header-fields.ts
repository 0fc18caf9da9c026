import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';

export const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8 * 1024;

/**
 * Reads header fields that are sent to a push worker (specification 3.2).
 *
 * @param value what a schema has found to be an object of texts
 * @returns names in lower case
 */
export function readHeaders(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): Readonly<Record<string, string>> | null | undefined {
  if (value === undefined || value === null) return value;
  const entries = Object.entries(value as Fields) as [string, string][];
  const read = new Map<string, string>();
  let bytes = 0;
  for (const [name, text] of entries) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 64));
    const fault = headerNameFault(name) ?? headerValueFault(text);
    if (fault !== null) reader.fault(pointer, 'invalid', `cannot be taken: ${shown} ${fault}`);
    else if (read.has(lower)) reader.fault(pointer, 'invalid', `names ${shown} twice`);
    read.set(lower, text);
    bytes += name.length + text.length;
  }
  if (read.size > MAX_HEADERS) {
    reader.fault(pointer, 'too_large', `has ${read.size} entries, and may have ${MAX_HEADERS}`);
  }
  if (bytes > MAX_HEADER_BYTES) {
    reader.fault(
      pointer,
      'too_large',
      `has ${bytes} bytes of names and values, and may have ${MAX_HEADER_BYTES}`,
    );
  }
  return Object.fromEntries(read);
}
