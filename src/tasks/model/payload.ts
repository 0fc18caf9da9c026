/**
 * A payload is one text: JSON, or bytes as a `data:` URL (RFC 2397) that also has their content type. JSON never begins
 * like that, so everything that stores and carries payloads handles both in the same way.
 */
const SCHEME = 'data:';
const ENCODING = ';base64,';

/** Maximum number of characters of a content type. */
export const MAX_CONTENT_TYPE_LENGTH = 128;

/** A payload that is not JSON. */
export interface BytesPayload {
  readonly contentType: string;
  /** With padding, in the alphabet of RFC 4648, section 4. */
  readonly base64: string;
}

/** The payload as one text. */
export function bytesPayload({ contentType, base64 }: BytesPayload): string {
  return SCHEME + contentType + ENCODING + base64;
}

/** The bytes of a payload; null for a JSON payload and for a task without a payload. */
export function bytesOf(payload: string | null): BytesPayload | null {
  if (payload === null || !payload.startsWith(SCHEME)) return null;
  // A parameter of the content type may contain the same text, but base64 has no semicolon.
  const end = payload.lastIndexOf(ENCODING, SCHEME.length + MAX_CONTENT_TYPE_LENGTH);
  return {
    contentType: payload.slice(SCHEME.length, end),
    base64: payload.slice(end + ENCODING.length),
  };
}
