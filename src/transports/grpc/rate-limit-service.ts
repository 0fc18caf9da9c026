import type { Fault, FaultCode } from '../../base/fault.ts';
import type { CallOrigin, Decider, DecisionReply } from '../../decision/decider.ts';
import {
  GRPC_STATUS,
  type GrpcService,
  type GrpcStatus,
  type UnaryMethod,
  type UnaryReply,
} from '../../grpc/service.ts';
import { traceFieldOf, traceIdOf } from '../call-origin.ts';

export const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';

/**
 * `envoy.service.ratelimit.v3.RateLimitService` (spec 4.2).
 *
 * @param keepsTraceIds whether the origins of requests have the trace IDs, which are only readable when a call arrives
 */
export function rateLimitService(decider: Decider, keepsTraceIds = false): GrpcService {
  const method = shouldRateLimit(decider, keepsTraceIds);
  return {
    unary: new Map([[`/${RATE_LIMIT_SERVICE}/ShouldRateLimit`, method]]),
    serverStreaming: new Map(),
    bidiStreaming: new Map(),
  };
}

function shouldRateLimit(decider: Decider, keepsTraceIds: boolean): UnaryMethod {
  return (request, reply) => {
    const traceField = keepsTraceIds ? traceFieldOf(name => reply.header(name)) : '';
    decider.decide(request, 'protobuf', new UnaryDecisionReply(reply, traceField));
  };
}

/** A request over the limit has the gRPC status OK: the code OVER_LIMIT is inside the response message. */
class UnaryDecisionReply implements DecisionReply {
  readonly #reply: UnaryReply;
  readonly #traceField: string;

  constructor(reply: UnaryReply, traceField: string) {
    this.#reply = reply;
    this.#traceField = traceField;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  get origin(): CallOrigin {
    return { peer: this.#reply.peer, traceId: traceIdOf(this.#traceField) };
  }

  get gone(): boolean {
    return this.#reply.done;
  }

  answered(response: Uint8Array): void {
    this.#reply.send(response);
  }

  refused(fault: Fault): void {
    this.#reply.fail(STATUS_OF_FAULT[fault.code], fault.message);
  }
}

/** gRPC status by fault code. UNAVAILABLE and RESOURCE_EXHAUSTED tell callers that a retry may help. */
export const STATUS_OF_FAULT: Readonly<Record<FaultCode, GrpcStatus>> = {
  bad_request: GRPC_STATUS.invalidArgument,
  // Not INVALID_ARGUMENT, because gRPC libraries answer INTERNAL if a request does not parse.
  unparseable: GRPC_STATUS.internal,
  too_large: GRPC_STATUS.resourceExhausted,
  unimplemented: GRPC_STATUS.unimplemented,
  no_rules: GRPC_STATUS.unavailable,
  store_failed: GRPC_STATUS.unavailable,
  overloaded: GRPC_STATUS.resourceExhausted,
  // The call has already ended, so nobody receives this status.
  cancelled: GRPC_STATUS.cancelled,
  internal: GRPC_STATUS.internal,
};
