import { ByteWriter } from '../../../base/bytes.ts';
import { atTurnEnd } from '../../../base/event-loop.ts';
import type { Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { CallOrigin, Decider, DecisionReply } from '../../../decision/decider.ts';
import { JsonFault } from '../../../messages/json-fault.ts';
import { jsonToRequest } from '../../../messages/json-request.ts';
import { traceFieldOf, traceIdOf } from '../../call-origin.ts';
import {
  type CallSpan,
  type CallTracing,
  type HeaderReader,
  type SpanOutcomes,
  TracedDecisionReply,
} from '../../tracing.ts';
import { type ErrorCode, type ErrorText, errorAnswer } from '../answer.ts';
import { readBody } from '../body.ts';
import type { AnswerObserver, Exchange } from '../exchange.ts';
import { beginRequestSpan, statusAttributes } from '../request-attributes.ts';
import { FAULT_WORK } from '../request-turns.ts';
import type { RequestHead, Route } from '../routes.ts';

interface JsonRouteOptions {
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
interface Call {
  readonly span: CallSpan | null;
  /** Undefined if it is not kept. */
  readonly origin: CallOrigin | undefined;
}

/**
 * `/json`: a decision for a `RateLimitRequest` in proto3 JSON, regardless of the `Content-Type`. 200 if no limit is
 * exceeded, otherwise 429, with the `RateLimitResponse` as body (spec 4.1). Failures have the statuses of `answer.ts`.
 */
export function jsonRoute(
  decider: Decider,
  log: Logger,
  { tracing = null, keepsOrigins = false, keepsPeers = false, observer }: JsonRouteOptions = {},
): Route {
  // One buffer serves all requests: it is filled and passed on within one call, and the decider copies it.
  const request = new ByteWriter(1024);
  const decide = (exchange: Exchange, body: Uint8Array, { span, origin }: Call): void => {
    exchange.complete();
    request.reset();
    const fault = convert(body, request);
    if (fault !== null) {
      span?.end(statusAttributes(statusOf(fault)), '');
      exchange.spend(FAULT_WORK);
      refuse(exchange, fault, log);
      return;
    }
    const reply = new JsonReply(exchange, log, origin, keepsPeers);
    if (span === null) decider.decide(request.view(), 'json', reply);
    else {
      const traced = new TracedDecisionReply(reply, span, STATUS_OUTCOMES);
      tracing?.current.during(span, () => decider.decide(request.view(), 'json', traced));
    }
    // By then the embedded store has answered, and the connection need not be held.
    atTurnEnd(() => exchange.holdInput());
  };
  return {
    path: '/json',
    method: 'POST',
    help: 'decides the RateLimitRequest in the body',
    handle: (exchange, asked) => {
      if (observer !== undefined) exchange.observe(observer);
      // A call whose body never arrives completely exports no span, because there is nothing to decide.
      const span = tracing === null ? null : beginRequestSpan(tracing, asked, '/json');
      const origin = keepsOrigins ? originOf(asked) : undefined;
      readBody(exchange, body => decide(exchange, body, { span, origin }));
    },
  };
}

/** Valid only until the handler returns, like the request. */
function headersOf(request: RequestHead): HeaderReader {
  return name => request.header(name);
}

function originOf(request: RequestHead): CallOrigin {
  return { peer: request.remoteAddress, traceId: traceIdOf(traceFieldOf(headersOf(request))) };
}

/** Converts a body of proto3 JSON and appends the request to `writer`. Returns what is wrong, or null. */
export function convert(body: Uint8Array, writer: ByteWriter): ErrorText | null {
  try {
    jsonToRequest(body, writer);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown;
    const { code, message, path } = thrown;
    return { code, message, ...(path === '' ? {} : { path }) };
  }
}

class JsonReply implements DecisionReply {
  readonly #exchange: Exchange;
  readonly #log: Logger;
  readonly #keepsPeers: boolean;
  #origin: CallOrigin | undefined;

  /** @param keepsPeers whether the address of the caller is looked up for a rejection */
  constructor(exchange: Exchange, log: Logger, origin: CallOrigin | undefined, keepsPeers: boolean) {
    this.#exchange = exchange;
    this.#log = log;
    this.#origin = origin;
    this.#keepsPeers = keepsPeers;
  }

  get origin(): CallOrigin | undefined {
    return this.#origin;
  }

  get caller(): object {
    return this.#exchange.caller;
  }

  get gone(): boolean {
    return this.#exchange.over;
  }

  answered(response: Uint8Array, overLimit: boolean, retryAfterS = 0): void {
    const status = overLimit ? '429 Too Many Requests' : '200 OK';
    // After the answer, the connection may be gone. For most requests, nobody asks.
    if (overLimit && this.#keepsPeers && this.#origin === undefined && !this.#exchange.over)
      this.#origin = { peer: this.#exchange.remoteAddress, traceId: '' };
    const answer = { status, contentType: 'application/json', body: response };
    if (retryAfterS === 0) this.#exchange.answer(answer);
    else this.#exchange.answer({ ...answer, headers: { 'Retry-After': String(retryAfterS) } });
  }

  refused(fault: Fault): void {
    refuse(this.#exchange, { code: fault.code, message: fault.message }, this.#log);
  }
}

function statusOf({ code }: { readonly code: ErrorCode }): number {
  return Number.parseInt(errorAnswer({ code, message: '' }).status, 10);
}

/** The span of a call has the HTTP status of the answer. */
const STATUS_OUTCOMES: SpanOutcomes = {
  answered: overLimit => statusAttributes(overLimit ? 429 : 200),
  refused: fault => {
    const status = statusOf(fault);
    return [statusAttributes(status), status < 500 ? '' : fault.message];
  },
};

/**
 * The answer names the cause, so the log repeats it only at level debug. The reference implementation logs a warning
 * for each rejected request, which lets any caller fill the log.
 */
function refuse(exchange: Exchange, error: ErrorText, log: Logger): void {
  if (log.enabled('debug'))
    log.debug('Rejected a /json request', { code: error.code, reason: error.message });
  exchange.answer(errorAnswer(error));
}
