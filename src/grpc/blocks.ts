import { preencode } from '../http2/hpack/encoder.ts';
import { GRPC_STATUS, type GrpcStatus } from './service.ts';

/** Name and value. */
export type Field = readonly [name: string, value: string];

const OK: Field = [':status', '200'];
const CONTENT_TYPE: Field = ['content-type', 'application/grpc'];

/** Begins a response that has messages. */
export const ANSWER_HEAD = preencode([OK, CONTENT_TYPE]);

/** Ends a response whose status is OK. */
export const OK_TRAILERS = preencode([['grpc-status', '0']]);

/** The fields that carry the status of a call. */
export function statusFields(status: GrpcStatus, message: string): Field[] {
  const code: Field = ['grpc-status', String(status)];
  return message === '' ? [code] : [code, ['grpc-message', encodeStatusMessage(message)]];
}

/** Ends a response that has a head with a status other than OK. */
export function trailersBlock(status: GrpcStatus, message: string): Uint8Array {
  return preencode(statusFields(status, message));
}

/** The last block of {@link failureBlock} with its status and message. */
let last = encodedFailure(GRPC_STATUS.unknown, '');

function encodedFailure(
  status: GrpcStatus,
  message: string,
): { readonly status: GrpcStatus; readonly message: string; readonly block: Uint8Array } {
  return { status, message, block: trailersOnlyBlock(status, message) };
}

/**
 * A response that consists of a status alone ("gRPC over HTTP2", Trailers-Only). The block must not be changed, because
 * consecutive calls that fail for the same reason share it.
 */
export function failureBlock(status: GrpcStatus, message: string): Uint8Array {
  if (last.status !== status || last.message !== message) last = encodedFailure(status, message);
  return last.block;
}

/** A Trailers-Only response with additional fields, encoded for this call. */
export function trailersOnlyBlock(
  status: GrpcStatus,
  message: string,
  more: readonly Field[] = [],
): Uint8Array {
  return preencode([OK, CONTENT_TYPE, ...statusFields(status, message), ...more]);
}

/** The accepted encodings. Sent when another encoding is refused ("gRPC Compression", Compression Method Asymmetry). */
export const ACCEPTED_ENCODING: Field = ['grpc-accept-encoding', 'identity,gzip'];

/** Maximum length of a status message. Messages are sent in a header section and read by people. */
const MAX_CHARACTERS = 1_024;

/** Maximum encoded length: clients may refuse header sections above 8 KiB ("gRPC over HTTP2", Responses). */
const MAX_ENCODED_BYTES = 6_144;

const ELLIPSIS = '…';
const ENCODED_ELLIPSIS = '%E2%80%A6';

/** Prepares a text for `grpc-message`: limits its length and replaces lone surrogates, which UTF-8 cannot encode. */
export function statusMessage(text: string): string {
  return (text.length <= MAX_CHARACTERS ? text : cut(text)).toWellFormed();
}

/** Truncates a text without splitting a surrogate pair. */
function cut(text: string): string {
  const end = MAX_CHARACTERS - 1;
  const isInside = /[\ud800-\udbff]/.test(text[end - 1]);
  return text.slice(0, isInside ? end - 1 : end) + ELLIPSIS;
}

/** Texts that need no encoding: printable ASCII without the percent sign. */
const PLAIN = /^[ -$&-~]*$/;

/** Percent-encodes everything except printable ASCII, and the percent sign ("gRPC over HTTP2", Responses). */
export function encodeStatusMessage(text: string): string {
  if (text.length <= MAX_CHARACTERS && PLAIN.test(text)) return text;
  let encoded = '';
  for (const character of statusMessage(text)) {
    const added = encodeCharacter(character);
    if (encoded.length + added.length > MAX_ENCODED_BYTES) return encoded + ENCODED_ELLIPSIS;
    encoded += added;
  }
  return encoded;
}

function encodeCharacter(character: string): string {
  if (character >= ' ' && character <= '~' && character !== '%') return character;
  let encoded = '';
  for (const octet of Buffer.from(character))
    encoded += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}
