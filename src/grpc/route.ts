import { fieldOf, type RequestHead } from '../http2/connection/request-head.ts';
import { ACCEPTED_ENCODING, trailersOnlyBlock } from './blocks.ts';
import { type HttpRefusal, httpRefusal } from './http-refusal.ts';
import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type StreamMethod,
  type UnaryMethod,
} from './service.ts';

/** Whom a request is for, or why nobody; it follows from the header section alone. */
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
  | { readonly kind: 'refused'; readonly block: Uint8Array }
  | NotGrpcRoute;

export interface NotGrpcRoute {
  readonly kind: 'not gRPC';
  readonly path: string;
  readonly refusal: HttpRefusal;
  /** Whether the peer may wait for the answer before it sends more. */
  readonly isAwaited: boolean;
}

/** `timeoutMs` of a call that may take for ever. */
export const NO_TIMEOUT = Number.POSITIVE_INFINITY;

/** With a suffix or parameters; `application/grpc-web` is another protocol. Media types have no case (RFC 9110, 8.3.1). */
const GRPC_CONTENT = /^application\/grpc(?:[+;\s]|$)/i;

/** The encoding of messages that is accepted beside `identity`. */
const GZIP = 'gzip';

/** How much of what a caller sent is shown to it again. */
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
    return notGrpc(head, 415, 'this port takes gRPC calls: content-type application/grpc');
  const encoding = fieldOf(block, 'grpc-encoding');
  if (encoding === '' || encoding === 'identity' || encoding === GZIP) return null;
  const message = `grpc-encoding ${encoding.slice(0, MAX_QUOTED_ENCODING)} is not accepted; use gzip or identity`;
  return {
    kind: 'refused',
    block: trailersOnlyBlock(GRPC_STATUS.unimplemented, message, [ACCEPTED_ENCODING]),
  };
}

function notGrpc({ method, path, block }: RequestHead, httpStatus: 405 | 415, message: string): NotGrpcRoute {
  // The bytes behind CONNECT are for a tunnel, and a client that expects 100-continue has been told nothing yet
  // (RFC 9110, 9.3.6 and 10.1.1).
  const isAwaited = method === 'CONNECT' || fieldOf(block, 'expect') !== '';
  return { kind: 'not gRPC', path, refusal: httpRefusal(httpStatus, method, message), isAwaited };
}

function methodRoute({ path, block }: RequestHead, service: GrpcService): Route {
  const timeout = fieldOf(block, 'grpc-timeout');
  const timeoutMs = timeout === '' ? NO_TIMEOUT : parseTimeoutMs(timeout);
  if (Number.isNaN(timeoutMs)) {
    return refused(GRPC_STATUS.internal, 'grpc-timeout is not up to eight digits and one of H M S m u n');
  }
  const isGzip = fieldOf(block, 'grpc-encoding') === GZIP;
  const unary = service.unary.get(path);
  if (unary !== undefined) return { kind: 'unary', path, timeoutMs, isGzip, method: unary };
  const streaming = service.serverStreaming.get(path);
  if (streaming !== undefined) return { kind: 'stream', path, timeoutMs, isGzip, method: streaming };
  return refused(GRPC_STATUS.unimplemented, `there is no method ${path.slice(0, MAX_QUOTED_PATH)}`);
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

/** Digits and unit; the protocol allows at most eight digits. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** Time that a call may take in milliseconds; NaN when the text is not one. */
export function parseTimeoutMs(text: string): number {
  const match = TIMEOUT.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * UNIT_MS[match[2]];
}
