import { fieldOf, type RequestHead } from '../http2/connection/request-head.ts';
import { ACCEPTED_ENCODING, trailersOnlyBlock } from './blocks.ts';
import { type HttpRefusal, httpRefusal } from './http-refusal.ts';
import {
  type BidiMethod,
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type StreamMethod,
  type UnaryMethod,
} from './service.ts';

/** The method that a request calls, or how the request is refused. Depends on the header section alone. */
export type Route =
  | {
      readonly kind: 'unary';
      readonly path: string;
      readonly timeoutMs: number;
      readonly isGzip: boolean;
      readonly method: UnaryMethod;
    }
  | {
      readonly kind: 'stream';
      readonly path: string;
      readonly timeoutMs: number;
      readonly isGzip: boolean;
      readonly method: StreamMethod;
    }
  | BidiRoute
  | { readonly kind: 'refused'; readonly block: Uint8Array }
  | NotGrpcRoute;

/** A method whose requests are a stream. */
export interface BidiRoute {
  readonly kind: 'bidi';
  readonly path: string;
  readonly timeoutMs: number;
  readonly isGzip: boolean;
  readonly method: BidiMethod;
}

export interface NotGrpcRoute {
  readonly kind: 'not gRPC';
  readonly path: string;
  readonly refusal: HttpRefusal;
  /** Whether the peer may wait for the response before it sends more. */
  readonly isAwaited: boolean;
}

/** `timeoutMs` of a call without a timeout. */
export const NO_TIMEOUT = Number.POSITIVE_INFINITY;

/**
 * Allows a suffix and parameters, but not `application/grpc-web`. Media types are case-insensitive (RFC 9110, 8.3.1).
 */
const GRPC_CONTENT = /^application\/grpc(?:[+;\s]|$)/i;

/** The message encoding that is accepted besides `identity`. */
const GZIP = 'gzip';

/** Maximum lengths of values of the caller that error messages repeat. */
const MAX_QUOTED_METHOD = 20;
const MAX_QUOTED_ENCODING = 40;
const MAX_QUOTED_PATH = 200;

export function routeOf(head: RequestHead, service: GrpcService): Route {
  return refusal(head) ?? methodRoute(head, service);
}

function refusal(head: RequestHead): Route | null {
  const { method, block } = head;
  if (method !== 'POST')
    return notGrpc(head, 405, `gRPC calls use POST, not ${method.slice(0, MAX_QUOTED_METHOD)}`);
  if (!GRPC_CONTENT.test(fieldOf(block, 'content-type')))
    return notGrpc(head, 415, 'this port serves gRPC only: content-type must be application/grpc');
  const encoding = fieldOf(block, 'grpc-encoding');
  if (encoding === '' || encoding === 'identity' || encoding === GZIP) return null;
  const message = `grpc-encoding ${encoding.slice(0, MAX_QUOTED_ENCODING)} is not supported; use gzip or identity`;
  return {
    kind: 'refused',
    block: trailersOnlyBlock(GRPC_STATUS.unimplemented, message, [ACCEPTED_ENCODING]),
  };
}

function notGrpc({ method, path, block }: RequestHead, httpStatus: 405 | 415, message: string): NotGrpcRoute {
  // After CONNECT the client waits for the tunnel, and with `expect` for 100-continue (RFC 9110, 9.3.6 and 10.1.1).
  const isAwaited = method === 'CONNECT' || fieldOf(block, 'expect') !== '';
  return { kind: 'not gRPC', path, refusal: httpRefusal(httpStatus, method, message), isAwaited };
}

function methodRoute({ path, block }: RequestHead, service: GrpcService): Route {
  const timeout = fieldOf(block, 'grpc-timeout');
  const timeoutMs = timeout === '' ? NO_TIMEOUT : parseTimeoutMs(timeout);
  if (Number.isNaN(timeoutMs)) {
    return refused(
      GRPC_STATUS.internal,
      'grpc-timeout must be 1 to 8 digits followed by one of H, M, S, m, u, n',
    );
  }
  const isGzip = fieldOf(block, 'grpc-encoding') === GZIP;
  const unary = service.unary.get(path);
  if (unary !== undefined) return { kind: 'unary', path, timeoutMs, isGzip, method: unary };
  const streaming = service.serverStreaming.get(path);
  if (streaming !== undefined) return { kind: 'stream', path, timeoutMs, isGzip, method: streaming };
  const bidi = service.bidiStreaming.get(path);
  if (bidi !== undefined) return { kind: 'bidi', path, timeoutMs, isGzip, method: bidi };
  return refused(GRPC_STATUS.unimplemented, `unknown method ${path.slice(0, MAX_QUOTED_PATH)}`);
}

function refused(status: GrpcStatus, message: string): Route {
  return { kind: 'refused', block: trailersOnlyBlock(status, message) };
}

/** Milliseconds of each unit of `grpc-timeout` ("gRPC over HTTP2", Timeout). */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Digits and unit. The protocol allows at most eight digits. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** The value of `grpc-timeout` in milliseconds; NaN if the text is not valid. */
export function parseTimeoutMs(text: string): number {
  const match = TIMEOUT.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * UNIT_MS[match[2]];
}
