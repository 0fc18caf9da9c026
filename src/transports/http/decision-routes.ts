import { ByteWriter } from '../../base/bytes.ts';
import type { Fault } from '../../base/fault.ts';
import type { Health } from '../../base/health.ts';
import type { Logger } from '../../base/logger.ts';
import type { Decider, DecisionReply } from '../../decision/decider.ts';
import { JsonFault } from '../../messages/json-fault.ts';
import { jsonToRequest } from '../../messages/json-request.ts';
import { type Answer, textAnswer } from './answer.ts';
import { readBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';
import { type ErrorText, errorAnswer } from './status.ts';

const HEALTHY = textAnswer('OK');
const UNHEALTHY: Answer = { status: '500 Internal Server Error', contentType: '', body: '' };

/** `/healthcheck`: 200 with the body `OK`, or 500 with none, whatever the method (spec 4.1, 3.4). */
export function healthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    method: 'any',
    help: '200 while the service is healthy',
    handle: exchange => exchange.answer(health.healthy ? HEALTHY : UNHEALTHY),
  };
}

/**
 * `/json`: a decision for a `RateLimitRequest` in proto3 JSON, whatever the `Content-Type` says. 200 when no limit
 * is exceeded, else 429, with the `RateLimitResponse` as body (spec 4.1); other failures as `status.ts` has them.
 */
export function jsonRoute(decider: Decider, log: Logger): Route {
  // One buffer for all requests: it is filled and handed over within one call, and the decider copies it.
  const request = new ByteWriter(1024);
  const decide = (exchange: Exchange, body: Uint8Array): void => {
    request.reset();
    const fault = convert(body, request);
    if (fault !== null) {
      refuse(exchange, fault, log);
      return;
    }
    decider.decide(request.view(), 'json', new JsonReply(exchange, log));
    // A store in memory answers before this turn is over, and then the connection need not be held.
    queueMicrotask(() => exchange.holdInput());
  };
  return {
    path: '/json',
    method: 'POST',
    help: 'decides the RateLimitRequest in the body',
    handle: exchange => readBody(exchange, body => decide(exchange, body)),
  };
}

/** Appends the request to `writer`, or says why the body is not one. */
function convert(body: Uint8Array, writer: ByteWriter): ErrorText | null {
  try {
    jsonToRequest(body, writer);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown;
    const { message, path } = thrown;
    return { code: 'unparseable', message, ...(path === '' ? {} : { path }) };
  }
}

class JsonReply implements DecisionReply {
  readonly #exchange: Exchange;
  readonly #log: Logger;

  constructor(exchange: Exchange, log: Logger) {
    this.#exchange = exchange;
    this.#log = log;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    const status = overLimit ? '429 Too Many Requests' : '200 OK';
    this.#exchange.answer({ status, contentType: 'application/json', body: response });
  }

  refused(fault: Fault): void {
    refuse(this.#exchange, { code: fault.code, message: fault.message }, this.#log);
  }
}

/**
 * The caller is told the cause, so the log repeats it at debug only: the reference implementation warns of each,
 * which lets any caller fill the log.
 */
function refuse(exchange: Exchange, error: ErrorText, log: Logger): void {
  if (log.enabled('debug')) log.debug(`/json refused a request: ${error.message}`, { code: error.code });
  exchange.answer(errorAnswer(error));
}
