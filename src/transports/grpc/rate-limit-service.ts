import type { Fault } from '../../base/fault.ts';
import type { Decider, DecisionReply } from '../../decision/decider.ts';
import type { GrpcService, UnaryMethod, UnaryReply } from '../../grpc/service.ts';
import { STATUS_OF_FAULT } from './status.ts';

export const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';

/** `envoy.service.ratelimit.v3.RateLimitService` (spec 4.2). */
export function rateLimitService(decider: Decider): GrpcService {
  return {
    unary: new Map([[`/${RATE_LIMIT_SERVICE}/ShouldRateLimit`, shouldRateLimit(decider)]]),
    serverStreaming: new Map(),
  };
}

function shouldRateLimit(decider: Decider): UnaryMethod {
  return (request, reply) => decider.decide(request, 'protobuf', new UnaryDecisionReply(reply));
}

/** Over limit is an answer like any other here: the code is inside the message, the call itself is OK. */
class UnaryDecisionReply implements DecisionReply {
  readonly #reply: UnaryReply;

  constructor(reply: UnaryReply) {
    this.#reply = reply;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
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
