import { ByteWriter } from '../../../base/bytes.ts';
import { atTurnEnd } from '../../../base/event-loop.ts';
import type { Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { quote } from '../../../base/printable.ts';
import type { CallOrigin, Decider, DecisionReply } from '../../../decision/decider.ts';
import type { RequestMapper } from '../../../mapping/request-mapper.ts';
import { JsonFault } from '../../../messages/json-fault.ts';
import { jsonToRequest, type UnmappedRequest } from '../../../messages/json-request.ts';
import { type Answer, type ErrorText, errorAnswer } from '../answer.ts';
import { readBody } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { statusAttributes } from '../request-attributes.ts';
import { FAULT_WORK } from '../request-turns.ts';
import type { Route } from '../routes.ts';
import { type Call, DecisionCalls, type DecisionRouteOptions, statusOf } from './decision-call.ts';

/** What `/json` needs of its thread. */
interface JsonParts {
  readonly decider: Decider;
  /** For requests that are described instead of their descriptors. */
  readonly mapper: RequestMapper;
  readonly log: Logger;
}

/** The answer to a described request for which no descriptor is left. */
const WITHOUT_DESCRIPTORS: Answer = {
  status: '200 OK',
  contentType: 'application/json',
  body: '{"overallCode":"OK","statuses":[]}',
};

/**
 * `/json`: a decision for a `RateLimitRequest` in proto3 JSON, regardless of the `Content-Type`. 200 if no limit is
 * exceeded, otherwise 429, with the `RateLimitResponse` as body (spec 4.1). Failures have the statuses of `answer.ts`.
 */
export function jsonRoute({ decider, mapper, log }: JsonParts, options: DecisionRouteOptions = {}): Route {
  const calls = new DecisionCalls(decider, '/json', 'json', options);
  // One buffer serves all requests: it is filled and passed on within one call, and the decider copies it.
  const request = new ByteWriter(1024);
  const pass = (exchange: Exchange, { span, origin }: Call): void =>
    calls.decide(request.view(), new JsonReply(exchange, calls, log, origin), span);
  const reject = (exchange: Exchange, fault: ErrorText, { span }: Call): void => {
    span?.end(statusAttributes(statusOf(fault)), '');
    exchange.spend(FAULT_WORK);
    refuse(exchange, fault, log);
  };
  const map = (exchange: Exchange, unmapped: UnmappedRequest, call: Call): void => {
    const mapped = mapper.writeDescribed(unmapped, request, outcome => {
      if (outcome === 'mapped') pass(exchange, call);
      else if (outcome === 'allowed') {
        call.span?.end(statusAttributes(200), '');
        exchange.answer(WITHOUT_DESCRIPTORS);
      } else reject(exchange, unmappedFault(unmapped, outcome), call);
    });
    mapped?.catch(thrown => exchange.fail(thrown));
  };
  const decide = (exchange: Exchange, body: Uint8Array, call: Call): void => {
    exchange.complete();
    request.reset();
    const converted = convert(body, request);
    if (converted === null) pass(exchange, call);
    else if ('code' in converted) {
      reject(exchange, converted, call);
      return;
    } else map(exchange, converted, call);
    // By then the embedded store has answered, and the connection need not be held.
    atTurnEnd(() => exchange.holdInput());
  };
  return {
    path: '/json',
    method: 'POST',
    help: 'decides the RateLimitRequest in the body',
    handle: (exchange, asked) => {
      const call = calls.begin(exchange, asked);
      readBody(exchange, body => decide(exchange, body, call));
    },
  };
}

/**
 * Converts a body of proto3 JSON and appends the request to `writer`. Returns what is wrong, the request whose descriptors
 * have to be appended, or null.
 */
export function convert(body: Uint8Array, writer: ByteWriter): ErrorText | UnmappedRequest | null {
  try {
    return jsonToRequest(body, writer);
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown;
    const { code, message, path } = thrown;
    return { code, message, ...(path === '' ? {} : { path }) };
  }
}

/** Why a described request has no descriptors. */
export function unmappedFault({ domain }: UnmappedRequest, outcome: 'no_mapping' | 'no_rules'): ErrorText {
  if (outcome === 'no_rules')
    return { code: 'no_rules', message: 'no rules have been loaded yet; retry later' };
  return {
    code: 'bad_request',
    message:
      `request: the rules have no domain ${quote(domain)} with \`requests\`; send \`descriptors\`, or add \`requests\` at ` +
      'the top of its rule file',
    path: 'request',
  };
}

class JsonReply implements DecisionReply {
  readonly #exchange: Exchange;
  readonly #calls: DecisionCalls;
  readonly #log: Logger;
  #origin: CallOrigin | undefined;

  constructor(exchange: Exchange, calls: DecisionCalls, log: Logger, origin: CallOrigin | undefined) {
    this.#exchange = exchange;
    this.#calls = calls;
    this.#log = log;
    this.#origin = origin;
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
    if (overLimit) this.#origin = this.#calls.refusedOrigin(this.#exchange, this.#origin);
    const answer = { status, contentType: 'application/json', body: response };
    if (retryAfterS === 0) this.#exchange.answer(answer);
    else this.#exchange.answer({ ...answer, headers: { 'Retry-After': String(retryAfterS) } });
  }

  refused(fault: Fault): void {
    refuse(this.#exchange, { code: fault.code, message: fault.message }, this.#log);
  }
}

/**
 * The answer names the cause, so the log repeats it only at level debug. The reference implementation logs a warning
 * for each rejected request, which lets any caller fill the log.
 */
function refuse(exchange: Exchange, error: ErrorText, log: Logger): void {
  if (log.enabled('debug'))
    log.debug('Rejected a /json request', { code: error.code, reason: error.message });
  exchange.answer(errorAnswer(error));
}
