import { type BytesPayload, bytesOf, bytesPayload, MAX_CONTENT_TYPE_LENGTH } from '../../model/task.ts';
import { parseExactly } from '../checks/exact-json.ts';
import { excludeEachOther, type FieldReader, type Fields } from '../checks/field-reader.ts';
import { Problem } from '../checks/problem.ts';
import type { Schema } from '../checks/schema.ts';

const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** A media type with parameters (RFC 9110, section 8.3.1); quoted values have no escapes. */
const CONTENT_TYPE =
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: ?; ?[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[ !#-[\]-~]*"))*$/;

/** A payload: JSON, or bytes in place of it (specification 3.2). */
export const PAYLOAD_FIELDS = {
  payload: { type: 'any', optional: true, nullable: true, description: 'Any JSON, at most 256 KiB.' },
  payload_base64: {
    type: 'string',
    encoding: 'base64',
    optional: true,
    nullable: true,
    description:
      'A payload that is not JSON: bytes in base64, with padding and without line breaks. The limit of the size is that of payload, and applies to the decoded bytes. Excludes payload.',
  },
  content_type: {
    type: 'string',
    min: 3,
    max: MAX_CONTENT_TYPE_LENGTH,
    pattern: CONTENT_TYPE,
    accepts: 'be a media type such as text/csv or text/plain; charset=utf-8',
    optional: true,
    nullable: true,
    description: `The Content-Type of payload_base64; ${DEFAULT_CONTENT_TYPE} by default.`,
  },
} as const satisfies Record<string, Schema>;

/**
 * Reads {@link PAYLOAD_FIELDS}. Faults are the reader's.
 *
 * @param at pointer of the object that has the fields; empty for the whole body
 * @param maxBytes of JSON text, or of decoded bytes
 * @param before the payload that is changed: its bytes and their content type stay if the fields give only one of them
 * @returns the payload as one text (`../../model/task.ts`); null for none, undefined if the fields leave it as it is
 * @throws Problem `conflicting_fields` or `payload_too_large`
 */
export function readPayload(
  fields: Fields,
  at: string,
  reader: FieldReader,
  maxBytes: number,
  before: string | null = null,
): string | null | undefined {
  const { payload, payload_base64: base64, content_type: contentType } = fields;
  excludeEachOther(fields, 'payload', 'payload_base64', at);
  const known = bytesOf(before);
  if (base64 != null) {
    checkBase64(base64 as string, `${at}/payload_base64`, reader, maxBytes);
    return bytesPayload({ contentType: typeOf(contentType, known), base64: base64 as string });
  }
  const isReplaced = payload !== undefined || base64 === null;
  if (!isReplaced && known !== null && contentType !== undefined) {
    return bytesPayload({ ...known, contentType: typeOf(contentType, known) });
  }
  if (contentType != null) {
    reader.fault(`${at}/content_type`, 'forbidden', 'is for payload_base64: a payload is application/json');
  }
  if (payload != null) return readJson(payload, `${at}/payload`, reader, maxBytes);
  return isReplaced ? null : undefined;
}

/** @param given undefined if the content type stays as it is, null for the default */
function typeOf(given: unknown, known: BytesPayload | null): string {
  if (given === undefined && known !== null) return known.contentType;
  return (given as string | null | undefined) ?? DEFAULT_CONTENT_TYPE;
}

/** @throws Problem `payload_too_large` */
function checkBase64(text: string, pointer: string, reader: FieldReader, maxBytes: number): void {
  const bytes = Buffer.byteLength(text, 'base64');
  if (bytes > maxBytes) throw tooLarge(pointer, `${bytes} bytes`, maxBytes);
  // The decoder skips what is not base64, and bits at the end that make no byte.
  if (Buffer.from(text, 'base64').toString('base64') === text) return;
  reader.fault(
    pointer,
    'invalid',
    'has to be base64 with the characters A-Z, a-z, 0-9, + and /, padded with = to a multiple of four',
  );
}

function readJson(
  value: unknown,
  pointer: string,
  reader: FieldReader,
  maxBytes: number,
): string | undefined {
  const text = jsonText(value);
  if (text === null) {
    reader.fault(pointer, 'too_large', 'is nested too deep: make it flatter, or send it as text');
    return undefined;
  }
  checkJsonSize(text, pointer, maxBytes);
  return text;
}

/** JSON text of what was parsed; null when it is nested deeper than the language can write. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** @throws Problem `payload_too_large` */
export function checkJsonSize(text: string, pointer: string, maxBytes: number): void {
  // No text has more bytes than three for each of its units, so most need not be counted.
  if (text.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw tooLarge(pointer, `${bytes} bytes of JSON`, maxBytes);
}

function tooLarge(pointer: string, size: string, maxBytes: number): Problem {
  const detail = `${pointer} has ${size}, and may have ${maxBytes}: keep what is large elsewhere and send where it is`;
  return new Problem('payload_too_large', detail, { errors: [{ pointer, code: 'too_large', detail }] });
}

/** The payload of a task, or of a template, in answers. */
export const PAYLOAD_ANSWER = {
  payload: {
    type: 'any',
    nullable: true,
    optional: true,
    description:
      'Only where the caller may see payloads, as with headers and result; in lists only when asked for.',
  },
  payload_base64: {
    type: 'string',
    encoding: 'base64',
    optional: true,
    description: 'Only if the payload is not JSON, and payload is null. Shown as payload is.',
  },
  content_type: { type: 'string', optional: true, description: 'Only with payload_base64.' },
} as const satisfies Record<string, Schema>;

/** The fields of a payload as JSON text, without braces. JSON is inserted as the store has it. */
export function payloadText(payload: string | null): string {
  const bytes = bytesOf(payload);
  if (bytes === null) return `"payload":${payload}`;
  const { contentType, base64 } = bytes;
  return `"payload":null,"payload_base64":"${base64}","content_type":${JSON.stringify(contentType)}`;
}

export function payloadView(payload: string | null): Record<string, unknown> {
  const bytes = bytesOf(payload);
  if (bytes === null) return { payload: payload === null ? null : parseExactly(payload) };
  return { payload: null, payload_base64: bytes.base64, content_type: bytes.contentType };
}
