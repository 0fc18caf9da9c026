import type { Fault } from '../../../base/fault.ts';
import type { CallOrigin, Decider, DecisionReply, ResponseFormat } from '../../../decision/decider.ts';
import { traceFieldOf, traceIdOf } from '../../call-origin.ts';
import { type CallSpan, type CallTracing, type SpanOutcomes, TracedDecisionReply } from '../../tracing.ts';
import { type ErrorCode, errorAnswer } from '../answer.ts';
import type { AnswerObserver, Exchange } from '../exchange.ts';
import { beginRequestSpan, statusAttributes } from '../request-attributes.ts';
import type { RequestHead } from '../routes.ts';

/** What the routes that decide requests have in common. */
export interface DecisionRouteOptions {
  /** Null, the default, if tracing is disabled. */
  readonly tracing?: CallTracing | null;
  /** Whether replies have the origins of requests, which are only known while the head is read. Default: false. */
  readonly keepsOrigins?: boolean;
  /** Whether replies over the limit have the addresses of callers, also without the rest of their origins. Default: false. */
  readonly keepsPeers?: boolean;
  /** Is called for the answers, if set. */
  readonly observer?: AnswerObserver;
}

/** What is kept of the head of a request. */
export interface Call {
  readonly span: CallSpan | null;
  /** Undefined if it is not kept. */
  readonly origin: CallOrigin | undefined;
}

/** Passes requests of a route to the decider, with a span for each if tracing is enabled. */
export class DecisionCalls {
  readonly #decider: Decider;
  readonly #path: string;
  readonly #format: ResponseFormat;
  readonly #options: DecisionRouteOptions;

  /** @param path the path of the route, for spans */
  constructor(decider: Decider, path: string, format: ResponseFormat, options: DecisionRouteOptions) {
    this.#decider = decider;
    this.#path = path;
    this.#format = format;
    this.#options = options;
  }

  /** Call this while the head is valid. */
  begin(exchange: Exchange, asked: RequestHead): Call {
    const { tracing = null, keepsOrigins = false, observer } = this.#options;
    if (observer !== undefined) exchange.observe(observer);
    return {
      // A call whose body never arrives completely exports no span, because there is nothing to decide.
      span: tracing === null ? null : beginRequestSpan(tracing, asked, this.#path),
      origin: keepsOrigins ? originOf(asked) : undefined,
    };
  }

  /** The request is copied. */
  decide(request: Uint8Array, reply: DecisionReply, span: CallSpan | null): void {
    const { tracing } = this.#options;
    if (span === null) this.#decider.decide(request, this.#format, reply);
    else {
      const traced = new TracedDecisionReply(reply, span, STATUS_OUTCOMES);
      tracing?.current.during(span, () => this.#decider.decide(request, this.#format, traced));
    }
  }

  /** The origin of a refused request: its address is looked up now if it was not kept. */
  refusedOrigin(exchange: Exchange, kept: CallOrigin | undefined): CallOrigin | undefined {
    // After the answer, the connection may be gone. For most requests, nobody asks.
    if (this.#options.keepsPeers !== true || kept !== undefined || exchange.over) return kept;
    return { peer: exchange.remoteAddress, traceId: '' };
  }
}

function originOf(request: RequestHead): CallOrigin {
  return { peer: request.remoteAddress, traceId: traceIdOf(traceFieldOf(name => request.header(name))) };
}

/** The HTTP status of a fault. */
export function statusOf({ code }: { readonly code: ErrorCode }): number {
  return Number.parseInt(errorAnswer({ code, message: '' }).status, 10);
}

/** The span of a call has the HTTP status of the answer. */
const STATUS_OUTCOMES: SpanOutcomes = {
  answered: overLimit => statusAttributes(overLimit ? 429 : 200),
  refused: (fault: Fault) => {
    const status = statusOf(fault);
    return [statusAttributes(status), status < 500 ? '' : fault.message];
  },
};
