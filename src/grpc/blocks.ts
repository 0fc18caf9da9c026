import { preencode } from '../http2/hpack/encoder.ts';
import { GRPC_STATUS, type GrpcStatus } from './service.ts';
import { encodeStatusMessage } from './status-message.ts';

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
