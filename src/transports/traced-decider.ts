import type { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply, ResponseFormat } from '../decision/decider.ts';
import { domainOf } from '../messages/domain.ts';
import type { CallSpan, CurrentSpan } from './tracing.ts';

/** The name of the reference implementation for this span. */
const SPAN_NAME = 'ShouldRateLimit Execution';

/** Refusals that are ours to mend. Bad requests are not, and neither is a full queue or a missing rule. */
const FAILURES: ReadonlySet<Fault['code']> = new Set(['store_failed', 'internal']);

/** The same decider with a span for each decision, below the span of the call it is for. */
export class TracedDecider implements Decider {
  readonly #decider: Decider;
  readonly #current: CurrentSpan;

  constructor(decider: Decider, current: CurrentSpan) {
    this.#decider = decider;
    this.#current = current;
  }

  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const call = this.#current.span;
    if (call?.recording !== true) {
      this.#decider.decide(request, format, reply);
      return;
    }
    const span = call.child(SPAN_NAME, { domain: domainOf(request) });
    this.#decider.decide(request, format, new TracedReply(reply, span));
  }
}

class TracedReply implements DecisionReply {
  readonly #reply: DecisionReply;
  readonly #span: CallSpan;

  constructor(reply: DecisionReply, span: CallSpan) {
    this.#reply = reply;
    this.#span = span;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    this.#span.end({ overall_code: overLimit ? 'OVER_LIMIT' : 'OK' }, '');
    this.#reply.answered(response, overLimit);
  }

  refused(fault: Fault): void {
    this.#span.end({ refused: fault.code }, FAILURES.has(fault.code) ? fault.message : '');
    this.#reply.refused(fault);
  }
}
