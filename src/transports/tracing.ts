import type { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply, ResponseFormat } from '../decision/decider.ts';
import { domainOf } from '../messages/request-table.ts';

/** A header field of a call by its name in lower case; empty when the call does not have it. */
export type HeaderReader = (name: string) => string;

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One call, or one part of it, as traces show it. Ended once. */
export interface CallSpan {
  /** False for a call that is not sampled: what is worked out only for the trace may be left out. */
  readonly recording: boolean;
  /** Begins a part of what this span covers. */
  child(name: string, attributes: SpanAttributes): CallSpan;
  /** @param failure what went wrong with us, not with the caller; empty when nothing did */
  end(attributes: SpanAttributes, failure: string): void;
}

/** Where calls are traced. There is none while tracing is off, so that a call then costs no more than a comparison. */
export interface CallTracing {
  /** Begins the span of a call. Its parent is what the header fields say (W3C trace context, B3), else it has none. */
  begin(name: string, attributes: SpanAttributes, header: HeaderReader): CallSpan;
  readonly current: CurrentSpan;
}

/**
 * The span of the call in hand. Set while a front hands a request to the decider, which happens within one turn, so a
 * plain field does what an asynchronous context would do at a cost for every promise.
 */
export class CurrentSpan {
  span: CallSpan | null = null;

  /** Runs `work` with `span` as the current one. */
  during(span: CallSpan, work: () => void): void {
    const outer = this.span;
    this.span = span;
    try {
      work();
    } finally {
      this.span = outer;
    }
  }
}

/** What a span says of what became of a request. */
export interface SpanWords {
  answered(overLimit: boolean): SpanAttributes;
  /** The second is what went wrong with us; empty when nothing did. */
  refused(fault: Fault): readonly [attributes: SpanAttributes, failure: string];
}

/** The same reply, which ends a span first. */
export class TracedReply implements DecisionReply {
  readonly #reply: DecisionReply;
  readonly #span: CallSpan;
  readonly #words: SpanWords;

  constructor(reply: DecisionReply, span: CallSpan, words: SpanWords) {
    this.#reply = reply;
    this.#span = span;
    this.#words = words;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    this.#span.end(this.#words.answered(overLimit), '');
    this.#reply.answered(response, overLimit);
  }

  refused(fault: Fault): void {
    this.#span.end(...this.#words.refused(fault));
    this.#reply.refused(fault);
  }
}

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
