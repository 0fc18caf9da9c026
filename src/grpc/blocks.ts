import { preencode } from '../http2/hpack/encoder.ts';
import { GRPC_STATUS, type GrpcStatus } from './service.ts';

/** Name and value. */
export type Field = readonly [name: string, value: string];

const OK: Field = [':status', '200'];
const CONTENT_TYPE: Field = ['content-type', 'application/grpc'];

/** Begins an answer that has messages. */
export const ANSWER_HEAD = preencode([OK, CONTENT_TYPE]);

/** Ends an answer whose status is OK. */
export const OK_TRAILERS = preencode([['grpc-status', '0']]);

/** What says how a call ended. */
export function statusFields(status: GrpcStatus, message: string): Field[] {
  const code: Field = ['grpc-status', String(status)];
  return message === '' ? [code] : [code, ['grpc-message', encodeStatusMessage(message)]];
}

/** Ends an answer that has a head with another status. */
export function trailersBlock(status: GrpcStatus, message: string): Uint8Array {
  return preencode(statusFields(status, message));
}

/** The last block of {@link failureBlock} and what it says. */
let last = encodedFailure(GRPC_STATUS.unknown, '');

function encodedFailure(
  status: GrpcStatus,
  message: string,
): { readonly status: GrpcStatus; readonly message: string; readonly block: Uint8Array } {
  return { status, message, block: trailersOnlyBlock(status, message) };
}

/**
 * An answer that is nothing but its status ("gRPC over HTTP2", Trailers-Only). The block must not be changed: calls that
 * fail one after the other mostly fail for the same reason, and then share it.
 */
export function failureBlock(status: GrpcStatus, message: string): Uint8Array {
  if (last.status !== status || last.message !== message) last = encodedFailure(status, message);
  return last.block;
}

/** The same with more fields, encoded for this call. */
export function trailersOnlyBlock(
  status: GrpcStatus,
  message: string,
  more: readonly Field[] = [],
): Uint8Array {
  return preencode([OK, CONTENT_TYPE, ...statusFields(status, message), ...more]);
}

/** What is accepted; goes with a refusal of other encodings (gRPC compression, "Compression Method Asymmetry"). */
export const ACCEPTED_ENCODING: Field = ['grpc-accept-encoding', 'identity,gzip'];

/** Status messages travel in a header section and are for people; more characters help nobody. */
const MAX_CHARACTERS = 1_024;

/** Octets on the wire: clients may refuse header sections of more than 8 KiB ("gRPC over HTTP2", Responses). */
const MAX_ENCODED_BYTES = 6_144;

const ELLIPSIS = '…';
const ENCODED_ELLIPSIS = '%E2%80%A6';

/** A text as it may go into `grpc-message`: bounded, and free of lone surrogates, which UTF-8 cannot write. */
export function statusMessage(text: string): string {
  return (text.length <= MAX_CHARACTERS ? text : cut(text)).toWellFormed();
}

/** Cuts between characters, not inside one that takes two places. */
function cut(text: string): string {
  const end = MAX_CHARACTERS - 1;
  const isInside = /[\ud800-\udbff]/.test(text[end - 1]);
  return text.slice(0, isInside ? end - 1 : end) + ELLIPSIS;
}

/** Text that needs no encoding: printable ASCII without the percent sign. */
const PLAIN = /^[ -$&-~]*$/;

/** `grpc-message`: all but printable ASCII, and the percent sign, is percent-encoded ("gRPC over HTTP2", Responses). */
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
