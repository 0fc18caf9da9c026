import { ByteWriter } from '../../../base/bytes.ts';
import { atTurnEnd } from '../../../base/event-loop.ts';
import type { Logger } from '../../../base/logger.ts';
import { quote } from '../../../base/printable.ts';
import type { Decider } from '../../../decision/decider.ts';
import type { Claims } from '../../../mapping/claims.ts';
import type { DomainMapping } from '../../../mapping/domain-mapping.ts';
import { decodedSegment } from '../../../mapping/percent-encoding.ts';
import type { RequestMapper } from '../../../mapping/request-mapper.ts';
import { type Answer, errorAnswer, problemAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { IgnoredBody } from '../ignored-body.ts';
import { KeptRequestHead } from '../kept-request-head.ts';
import { statusAttributes } from '../request-attributes.ts';
import type { RequestHead, Route } from '../routes.ts';
import {
  answerCall,
  type CheckContext,
  CheckReply,
  refusalStatusOf,
  WITHOUT_DESCRIPTORS,
} from './check-reply.ts';
import { type Call, DecisionCalls, type DecisionRouteOptions } from './decision-call.ts';

const PREFIX = '/check/';

const NO_RULES = errorAnswer({ code: 'no_rules', message: 'no rules have been loaded yet; retry later' });

/** What `/check` needs of its thread. */
interface CheckParts {
  readonly decider: Decider;
  readonly mapper: RequestMapper;
  readonly log: Logger;
}

/**
 * `/check/DOMAIN/*`: a decision for a request that a client has sent to a proxy, which describes it with the path and the
 * headers of this call (forward authentication). 200 if the proxy shall pass the request on.
 */
export function checkRoute(parts: CheckParts, options: DecisionRouteOptions = {}): Route {
  const check = new Check(parts, options);
  return {
    path: `${PREFIX}*`,
    method: 'any',
    help: 'decides the request that a proxy describes',
    handle: (exchange, asked) => check.handle(exchange, asked),
  };
}

/** A call that is not decided yet. */
interface OpenCheck {
  readonly exchange: Exchange;
  /** Null if the call has none. */
  readonly body: IgnoredBody | null;
  readonly call: Call;
}

class Check {
  readonly #mapper: RequestMapper;
  readonly #calls: DecisionCalls;
  readonly #context: CheckContext;
  /** One buffer serves all requests: it is filled and passed on within one call, and the decider copies it. */
  readonly #request = new ByteWriter(1_024);

  constructor({ decider, mapper, log }: CheckParts, options: DecisionRouteOptions) {
    this.#mapper = mapper;
    this.#calls = new DecisionCalls(decider, '/check', 'http', options);
    this.#context = { calls: this.#calls, counters: mapper.counters, log };
  }

  handle(exchange: Exchange, asked: RequestHead): void {
    const call = this.#calls.begin(exchange, asked);
    const body = exchange.bodyBytes === 0 ? null : new IgnoredBody(exchange);
    const { path } = asked;
    const slash = path.indexOf('/', PREFIX.length);
    const end = slash < 0 ? path.length : slash;
    const domain = decodedSegment(path.slice(PREFIX.length, end));
    const mapping = this.#mapper.of(domain);
    const check = { exchange, body, call };
    if (mapping === null) answerUndecided(check, unknownDomain(domain));
    else if (mapping === 'no_rules') answerUndecided(check, NO_RULES);
    else this.#read(mapping, check, asked, path.slice(end));
  }

  /** @param path what follows the domain in the path of the call */
  #read(mapping: DomainMapping, check: OpenCheck, asked: RequestHead, path: string): void {
    const { exchange, body } = check;
    const { query } = asked;
    mapping.request.readCall(asked, path, query);
    const claims = mapping.readClaims();
    if (claims instanceof Promise) {
      // Meanwhile, the mapping reads other requests.
      const kept = new KeptRequestHead(asked);
      claims
        .then(checked => {
          mapping.request.readCall(kept, path, query);
          this.#decide(mapping, check, checked);
        })
        .catch(thrown => exchange.fail(thrown));
    } else this.#decide(mapping, check, claims);
    // By then the embedded store has answered, and the connection need not be held. A body must be able to arrive.
    if (body === null) atTurnEnd(() => exchange.holdInput());
  }

  #decide(mapping: DomainMapping, check: OpenCheck, claims: Claims | null): void {
    const { exchange, body, call } = check;
    const request = this.#request;
    request.reset();
    exchange.complete();
    mapping.writeDomain(request);
    if (!this.#mapper.write(mapping, request, claims)) {
      answerUndecided(check, WITHOUT_DESCRIPTORS);
      return;
    }
    const reply = new CheckReply(this.#context, exchange, body, {
      onFailure: mapping.rules.onFailure,
      refusalStatus: refusalStatusOf(mapping.request),
      origin: call.origin,
    });
    this.#calls.decide(request.view(), reply, call.span);
  }
}

/** Answers a call that the decider does not see. */
function answerUndecided({ exchange, body, call }: OpenCheck, answer: Answer): void {
  call.span?.end(statusAttributes(Number.parseInt(answer.status, 10)), '');
  answerCall(exchange, body, answer);
}

/** A proxy must not take this for a decision. */
function unknownDomain(domain: string): Answer {
  return problemAnswer(
    '404 Not Found',
    `The rules have no domain ${quote(domain)} with \`requests\`. Write the domain in the path as in /check/DOMAIN, and add ` +
      '`requests` at the top of its rule file.',
  );
}
