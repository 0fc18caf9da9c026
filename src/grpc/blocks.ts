import { preencode } from '../http2/hpack/encoder.ts';
import type { GrpcStatus } from './service.ts';
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

/** An answer that is nothing but its status ("gRPC over HTTP2", Trailers-Only). */
export function trailersOnlyBlock(
  status: GrpcStatus,
  message: string,
  more: readonly Field[] = [],
): Uint8Array {
  return preencode([OK, CONTENT_TYPE, ...statusFields(status, message), ...more]);
}

/** What is accepted; goes with a refusal of other encodings (gRPC compression, "Compression Method Asymmetry"). */
export const ACCEPTED_ENCODING: Field = ['grpc-accept-encoding', 'identity,gzip'];
