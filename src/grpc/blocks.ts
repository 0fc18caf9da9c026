import { preencode } from '../http2/hpack/encoder.ts';
import { GRPC_STATUS, type GrpcStatus } from './service.ts';
import { encodeStatusMessage } from './status-message.ts';

type Field = readonly [name: string, value: string];

const OK: Field = [':status', '200'];
const CONTENT_TYPE: Field = ['content-type', 'application/grpc'];

/** Begins an answer that has messages. */
export const ANSWER_HEAD = preencode([OK, CONTENT_TYPE]);

/** Ends an answer whose status is OK. */
export const OK_TRAILERS = preencode([['grpc-status', '0']]);

function statusFields(status: GrpcStatus, message: string): Field[] {
  const code: Field = ['grpc-status', String(status)];
  return message === '' ? [code] : [code, ['grpc-message', encodeStatusMessage(message)]];
}

/** Ends an answer that has a head with another status. */
export function trailersBlock(status: GrpcStatus, message: string): Uint8Array {
  return preencode(statusFields(status, message));
}

/** An answer that is nothing but its status ("gRPC over HTTP2", Trailers-Only). */
export function trailersOnlyBlock(
  status: GrpcStatus,
  message: string,
  more: readonly Field[] = [],
): Uint8Array {
  return preencode([OK, CONTENT_TYPE, ...statusFields(status, message), ...more]);
}

/** What is accepted; goes with a refusal of compressed messages (gRPC compression, "Compression Method Asymmetry"). */
export const ACCEPTED_ENCODING: Field = ['grpc-accept-encoding', 'identity'];

/** What goes with an HTTP status: the allowed methods must be named (RFC 9110, 15.5.6), the media types may (12.5.1). */
const HTTP_REFUSALS = {
  405: ['allow', 'POST'],
  415: ['accept', 'application/grpc'],
} as const satisfies Record<number, Field>;

/**
 * An answer to what is no gRPC call: an HTTP status, and the reason for those who read header fields. The gRPC status
 * is what clients make of such an HTTP status anyway.
 */
export function httpRefusalBlock(httpStatus: keyof typeof HTTP_REFUSALS, message: string): Uint8Array {
  return preencode([
    [':status', String(httpStatus)],
    HTTP_REFUSALS[httpStatus],
    ...statusFields(GRPC_STATUS.unknown, message),
  ]);
}
