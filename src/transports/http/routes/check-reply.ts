import type { Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { CallOrigin, DecisionReply } from '../../../decision/decider.ts';
import { CALL_SLOTS } from '../../../mapping/header-slots.ts';
import type { MappingCounters } from '../../../mapping/mapping-counters.ts';
import type { OriginalRequest } from '../../../mapping/original-request.ts';
import { readHttpResponse } from '../../../messages/http-response.ts';
import type { RequestMapping } from '../../../rules/request-mapping.ts';
import { type Answer, errorAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { IgnoredBody } from '../ignored-body.ts';
import type { DecisionCalls } from './decision-call.ts';

/** Says why a request was allowed without a decision. */
const ALLOWED_HEADER = 'Sluice-Allowed';

/** The status of a refusal, if the proxy has asked for another one. */
const STATUS_HEADER = 'X-RateLimit-Status';

const OK = '200 OK';
const TOO_MANY = '429 Too Many Requests';
const FORBIDDEN = '403 Forbidden';

/** The answer to a request for which no descriptor is left. */
export const WITHOUT_DESCRIPTORS: Answer = allowed('no-descriptors');

const ALLOWED_ON_FAILURE: Answer = allowed('failure');

function allowed(reason: string): Answer {
  return { status: OK, contentType: '', headers: { [ALLOWED_HEADER]: reason }, body: '' };
}

/**
 * The status of a refusal: 403 if the proxy asks for it, because some proxies treat every status but 401 and 403 as an
 * error. A client that sends the header changes nothing but the status of its own refusal.
 */
export function refusalStatusOf({ headers }: OriginalRequest): 403 | 429 {
  return headers.values[CALL_SLOTS['sluice-refusal-status']] === '403' ? 403 : 429;
}

/** What the replies of a route share. */
export interface CheckContext {
  readonly calls: DecisionCalls;
  readonly counters: MappingCounters;
  readonly log: Logger;
}

/** How to answer a request, apart from its decision. */
interface AnswerForm {
  readonly onFailure: RequestMapping['onFailure'];
  readonly refusalStatus: 403 | 429;
  readonly origin: CallOrigin | undefined;
}

/** Answers a request once it is decided. */
export class CheckReply implements DecisionReply {
  readonly #context: CheckContext;
  readonly #exchange: Exchange;
  readonly #body: IgnoredBody | null;
  readonly #form: AnswerForm;
  #origin: CallOrigin | undefined;

  /** @param body null if the request has none */
  constructor(context: CheckContext, exchange: Exchange, body: IgnoredBody | null, form: AnswerForm) {
    this.#context = context;
    this.#exchange = exchange;
    this.#body = body;
    this.#form = form;
    this.#origin = form.origin;
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

  answered(response: Uint8Array, overLimit: boolean): void {
    const { headers, contentType, body } = readHttpResponse(response);
    if (!overLimit) {
      this.#answer({ status: OK, contentType, headers, body });
      return;
    }
    this.#origin = this.#context.calls.refusedOrigin(this.#exchange, this.#origin);
    this.#answer(this.#inForm({ status: TOO_MANY, contentType, headers, body }));
  }

  refused(fault: Fault): void {
    const { counters, log } = this.#context;
    const isAllowed = this.#form.onFailure === 'allow';
    (isAllowed ? counters.allowedOnFailure : counters.deniedOnFailure).add(1);
    if (log.enabled('debug'))
      log.debug('Could not decide a /check request', { code: fault.code, reason: fault.message });
    const failure = errorAnswer({ code: fault.code, message: fault.message });
    this.#answer(isAllowed ? ALLOWED_ON_FAILURE : this.#inForm(failure));
  }

  /** A refusal with the status that the proxy has asked for. */
  #inForm(refusal: Answer): Answer {
    if (this.#form.refusalStatus !== 403) return refusal;
    const headers = { ...refusal.headers, [STATUS_HEADER]: refusal.status.slice(0, 3) };
    return { ...refusal, status: FORBIDDEN, headers };
  }

  #answer(answer: Answer): void {
    answerCall(this.#exchange, this.#body, answer);
  }
}

/** Answers a call. @param body null if it has none */
export function answerCall(exchange: Exchange, body: IgnoredBody | null, answer: Answer): void {
  if (body === null) exchange.answer(answer);
  else body.answer(answer);
}
