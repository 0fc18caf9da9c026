import type { ByteWriter } from '../base/bytes.ts';

// What an HTTP response says about a decision. Unlike a `RateLimitResponse`, it is for the end user, and has no statuses:
//
//     length    2 bytes   of the headers, the low byte first
//     headers             each name and each value, with a zero at its end
//     body

/** Ends the name of a header, and its value. */
export const HEADER_END = '\0';

const LENGTH_BYTES = 2;

/** The type of a body. */
const PROBLEM = 'application/problem+json';

/** Bytes of a buffer: its first `length` bytes. */
interface Bytes {
  readonly bytes: Uint8Array;
  readonly length: number;
}

/**
 * Appends a response.
 *
 * @param pairs names and values of headers
 * @param encoded more headers, encoded, and the body; null if there are neither
 */
export function writeHttpResponse(
  to: ByteWriter,
  pairs: readonly (readonly [string, string])[],
  encoded: { readonly headers: Bytes; readonly rest: Bytes } | null,
): void {
  const start = to.length;
  to.byte(0);
  to.byte(0);
  for (const [name, value] of pairs) to.text(`${name}${HEADER_END}${value}${HEADER_END}`);
  if (encoded !== null) to.copy(encoded.headers.bytes, 0, encoded.headers.length);
  const length = to.length - start - LENGTH_BYTES;
  to.bytes[start] = length & 255;
  to.bytes[start + 1] = length >>> 8;
  if (encoded !== null) to.copy(encoded.rest.bytes, 0, encoded.rest.length);
}

/** A response as a front reads it. */
interface HttpResponse {
  readonly headers: Record<string, string>;
  /** Empty without a body. */
  readonly contentType: string;
  /** Valid as long as the bytes of the response. */
  readonly body: Uint8Array;
}

/** Reads what {@link writeHttpResponse} has written. */
export function readHttpResponse(bytes: Uint8Array): HttpResponse {
  const end = LENGTH_BYTES + bytes[0] + bytes[1] * 256;
  const head = Buffer.from(bytes.buffer, bytes.byteOffset + LENGTH_BYTES, end - LENGTH_BYTES);
  const texts = head.toString('latin1').split(HEADER_END);
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < texts.length; at += 2) headers[texts[at]] = texts[at + 1];
  const body = bytes.subarray(end);
  return { headers, contentType: body.length === 0 ? '' : PROBLEM, body };
}
