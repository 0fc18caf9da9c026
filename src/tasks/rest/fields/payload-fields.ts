import { type BytesPayload, bytesOf, bytesPayload, MAX_CONTENT_TYPE_LENGTH } from '../../model/task.ts';
import { parseExactly } from '../checks/exact-json.ts';
import { excludeEachOther, type FieldReader, type Fields } from '../checks/field-reader.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import type { FieldTable } from '../checks/resource.ts';

const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** A media type with parameters (RFC 9110, section 8.3.1). Quoted values must not contain escapes. */
const CONTENT_TYPE =
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: ?; ?[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[ !#-[\]-~]*"))*$/;

/**
 * A payload, as JSON or as bytes (specification 3.2). The fields depend on each other: {@link readPayload} reads them, and
 * {@link payloadView} shows them.
 */
export const PAYLOAD = {
  payload: {
    takes: { type: 'any', nullable: true, description: 'Any JSON, at most 256 KiB.' },
    shows: {
      type: 'any',
      nullable: true,
      optional: true,
      description:
        'Shown, like headers and result, only if the caller may see payloads; in lists only with `include=payload`.',
    },
  },
  payload_base64: {
    takes: {
      type: 'string',
      encoding: 'base64',
      nullable: true,
      description:
        'A payload that is not JSON: bytes in base64, with padding and without line breaks. The size limit is that of payload and applies to the decoded bytes. Cannot be combined with payload.',
    },
    shows: {
      type: 'string',
      encoding: 'base64',
      optional: true,
      description: 'In place of payload, which is null, if the payload is not JSON.',
    },
  },
  content_type: {
    takes: {
      type: 'string',
      min: 3,
      max: MAX_CONTENT_TYPE_LENGTH,
      pattern: CONTENT_TYPE,
      accepts: 'be a media type such as text/csv or text/plain; charset=utf-8',
      nullable: true,
      description: `The Content-Type of payload_base64. Default: ${DEFAULT_CONTENT_TYPE}.`,
    },
    shows: { type: 'string', optional: true, description: 'Only with payload_base64.' },
  },
} as const satisfies FieldTable<unknown>;

/**
 * Reads {@link PAYLOAD}. Adds faults to the reader.
 *
 * @param at pointer of the object that has the fields; empty for the whole body
 * @param maxBytes maximum size of the JSON text, or of the decoded bytes
 * @param before the current payload. If it has bytes and the fields contain only bytes or only a content type, the other
 *   one is kept.
 * @returns the payload in the form of the store (`../../model/task.ts`); null for none, undefined if it is unchanged
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
    reader.fault(
      `${at}/content_type`,
      'forbidden',
      'is only allowed with payload_base64, because the content type of payload is application/json',
    );
  }
  if (payload != null) return readJson(payload, `${at}/payload`, reader, maxBytes);
  return isReplaced ? null : undefined;
}

/** @param given undefined if the content type is unchanged, null for the default */
function typeOf(given: unknown, known: BytesPayload | null): string {
  if (given === undefined && known !== null) return known.contentType;
  return (given as string | null | undefined) ?? DEFAULT_CONTENT_TYPE;
}

/** @throws Problem `payload_too_large` */
function checkBase64(text: string, pointer: string, reader: FieldReader, maxBytes: number): void {
  const bytes = Buffer.byteLength(text, 'base64');
  if (bytes > maxBytes) throw tooLarge(pointer, `${bytes} bytes`, maxBytes);
  // The decoder ignores invalid characters, and bits at the end that do not form a byte.
  if (Buffer.from(text, 'base64').toString('base64') === text) return;
  reader.fault(
    pointer,
    'invalid',
    'must be base64 with the characters A-Z, a-z, 0-9, + and /, padded with = to a multiple of four',
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
    reader.fault(pointer, 'too_large', 'is nested too deeply: flatten it, or send it as a string');
    return undefined;
  }
  checkJsonSize(text, pointer, maxBytes);
  return text;
}

/** The JSON text of a parsed value; null if it is nested too deeply for `JSON.stringify`. */
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
  // A UTF-16 code unit has at most three bytes in UTF-8, so most texts need not be counted.
  if (text.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw tooLarge(pointer, `${bytes} bytes of JSON`, maxBytes);
}

function tooLarge(pointer: string, size: string, maxBytes: number): Problem {
  const detail = `${pointer} must have at most ${maxBytes} bytes, but has ${size}. Store large data elsewhere and send a reference to it.`;
  return problemAt({ pointer }, 'payload_too_large', detail, 'too_large');
}

/** The fields of a payload as JSON text, without braces. The JSON of the store is inserted unchanged. */
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
