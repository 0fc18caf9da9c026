import type { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply, ResponseFormat } from '../decision/decider.ts';
import { domainOf } from '../messages/domain.ts';
import { type SpanWords, TracedReply } from './traced-reply.ts';
import type { CurrentSpan } from './tracing.ts';

/** The name of the reference implementation for this span. */
const SPAN_NAME = 'ShouldRateLimit Execution';

/** Refusals that are ours to mend. Bad requests are not, and neither is a full queue or a missing rule. */
const FAILURES: ReadonlySet<Fault['code']> = new Set(['store_failed', 'internal']);

const WORDS: SpanWords = {
  answered: overLimit => ({ overall_code: overLimit ? 'OVER_LIMIT' : 'OK' }),
  refused: fault => [{ refused: fault.code }, FAILURES.has(fault.code) ? fault.message : ''],
};

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
    this.#decider.decide(request, format, new TracedReply(reply, span, WORDS));
  }
}
