import type { RequestHead } from '../http2/connection/request-head.ts';
import { ACCEPTED_ENCODING, httpRefusalBlock, trailersOnlyBlock } from './blocks.ts';
import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type StreamMethod,
  type UnaryMethod,
} from './service.ts';
import { parseTimeoutMs } from './timeout.ts';

/** Whom a request is for, or why nobody; it follows from the header section alone. */
export type Route =
  | {
      readonly kind: 'unary';
      readonly path: string;
      readonly timeoutMs: number;
      readonly method: UnaryMethod;
    }
  | {
      readonly kind: 'stream';
      readonly path: string;
      readonly timeoutMs: number;
      readonly method: StreamMethod;
    }
  | { readonly kind: 'refused'; readonly block: Uint8Array };

/** `timeoutMs` of a call that may take for ever. */
export const NO_TIMEOUT = Number.POSITIVE_INFINITY;

/** With a suffix or parameters; `application/grpc-web` is another protocol. Media types have no case (RFC 9110, 8.3.1). */
const GRPC_CONTENT = /^application\/grpc(?:[+;\s]|$)/i;

/** How much of what a caller sent is shown to it again. */
const MAX_QUOTED_METHOD = 20;
const MAX_QUOTED_ENCODING = 40;
const MAX_QUOTED_PATH = 200;

export function routeOf(head: RequestHead, service: GrpcService): Route {
  return refusal(head) ?? methodRoute(head, service);
}

function refusal({ method, block }: RequestHead): Route | null {
  if (method !== 'POST') {
    const message = `gRPC calls use POST, not ${method.slice(0, MAX_QUOTED_METHOD)}`;
    return { kind: 'refused', block: httpRefusalBlock(405, message) };
  }
  if (!GRPC_CONTENT.test(fieldOf(block, 'content-type'))) {
    const message = 'this port takes gRPC calls: content-type application/grpc';
    return { kind: 'refused', block: httpRefusalBlock(415, message) };
  }
  const encoding = fieldOf(block, 'grpc-encoding');
  if (encoding === '' || encoding === 'identity') return null;
  const message = `grpc-encoding ${encoding.slice(0, MAX_QUOTED_ENCODING)} is not accepted; use identity`;
  return {
    kind: 'refused',
    block: trailersOnlyBlock(GRPC_STATUS.unimplemented, message, [ACCEPTED_ENCODING]),
  };
}

function methodRoute({ path, block }: RequestHead, service: GrpcService): Route {
  const timeout = fieldOf(block, 'grpc-timeout');
  const timeoutMs = timeout === '' ? NO_TIMEOUT : parseTimeoutMs(timeout);
  if (Number.isNaN(timeoutMs)) {
    return refused(GRPC_STATUS.internal, 'grpc-timeout is not up to eight digits and one of H M S m u n');
  }
  const unary = service.unary.get(path);
  if (unary !== undefined) return { kind: 'unary', path, timeoutMs, method: unary };
  const streaming = service.serverStreaming.get(path);
  if (streaming !== undefined) return { kind: 'stream', path, timeoutMs, method: streaming };
  return refused(GRPC_STATUS.unimplemented, `there is no method ${path.slice(0, MAX_QUOTED_PATH)}`);
}

function fieldOf(block: RequestHead['block'], name: string): string {
  return block.values[block.names.indexOf(name)] ?? '';
}

function refused(status: GrpcStatus, message: string): Route {
  return { kind: 'refused', block: trailersOnlyBlock(status, message) };
}
