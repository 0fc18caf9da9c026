import type { Fault } from '../base/fault.ts';
import type { TraceContext } from '../base/trace-context.ts';
import type { CallOrigin, Decider, DecisionReply, ResponseFormat } from '../decision/decider.ts';
import { domainOf } from '../messages/request-table.ts';

/** A header field of a call by its name in lower case; empty when the call does not have it. */
export type HeaderReader = (name: string) => string;

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span of a trace: one call, or one part of a call. It is ended exactly once. */
export interface CallSpan {
  /** False if the call is not sampled. Work that serves only the trace can then be skipped. */
  readonly recording: boolean;
  /** With this context, other services join the trace as children of the span. */
  readonly context: TraceContext;
  /** Starts a child span, by default a span of kind internal that begins now. */
  child(name: string, attributes: SpanAttributes, options?: ChildOptions): CallSpan;
  add(attributes: SpanAttributes): void;
  /** Links to another span, which is not a child. */
  link(other: CallSpan): void;
  /**
   * @param failure what failed in this service; empty if nothing did, or if the caller is at fault
   * @param endMs milliseconds since the epoch, for a span whose beginning was given; now by default
   */
  end(attributes: SpanAttributes, failure: string, endMs?: number): void;
}

export interface ChildOptions {
  readonly kind: 'client' | 'internal';
  /** Milliseconds since the epoch. */
  readonly beganMs: number;
  readonly links: readonly CallSpan[];
}

/** Starts spans. While tracing is disabled there is no such object, so a call costs only a comparison with null. */
export interface CallTracing {
  /** Starts the span of a call. Its parent comes from the header fields (W3C trace context, B3), if they name one. */
  begin(name: string, attributes: SpanAttributes, header: HeaderReader): CallSpan;
  readonly current: CurrentSpan;
}

/**
 * The span of the call that is being passed to the decider. Passing it on is synchronous, so a plain field is enough.
 * An asynchronous context would make every promise slower.
 */
export class CurrentSpan {
  span: CallSpan | null = null;

  /** Runs `work` with `span` as the current span. */
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

/** Describes the outcome of a request for its span. */
export interface SpanOutcomes {
  answered(overLimit: boolean): SpanAttributes;
  /** `failure` as for {@link CallSpan.end}. */
  refused(fault: Fault): readonly [attributes: SpanAttributes, failure: string];
}

/** A reply that ends a span before it passes the outcome on. */
export class TracedDecisionReply implements DecisionReply {
  readonly span: CallSpan;
  readonly #reply: DecisionReply;
  readonly #outcomes: SpanOutcomes;

  constructor(reply: DecisionReply, span: CallSpan, outcomes: SpanOutcomes) {
    this.#reply = reply;
    this.span = span;
    this.#outcomes = outcomes;
  }

  get caller(): object | undefined {
    return this.#reply.caller;
  }

  get origin(): CallOrigin | undefined {
    return this.#reply.origin;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }

  answered(response: Uint8Array, overLimit: boolean, retryAfterS?: number): void {
    this.span.end(this.#outcomes.answered(overLimit), '');
    this.#reply.answered(response, overLimit, retryAfterS);
  }

  refused(fault: Fault): void {
    this.span.end(...this.#outcomes.refused(fault));
    this.#reply.refused(fault);
  }
}

/** The reference implementation uses this span name. */
const SPAN_NAME = 'ShouldRateLimit Execution';

/** Faults that are failures of this service. Bad requests, full queues and missing rules are not. */
const FAILURES: ReadonlySet<Fault['code']> = new Set(['store_failed', 'internal']);

const OUTCOMES: SpanOutcomes = {
  answered: overLimit => ({ overall_code: overLimit ? 'OVER_LIMIT' : 'OK' }),
  refused: fault => {
    const isFailure = FAILURES.has(fault.code);
    return [
      { refused: fault.code, ...(isFailure && { 'error.type': fault.code }) },
      isFailure ? fault.message : '',
    ];
  },
};

/** Returns the decider, with a span for each decision if tracing is enabled. */
export function tracedDecider(decider: Decider, tracing: CallTracing | null): Decider {
  return tracing === null ? decider : new TracedDecider(decider, tracing.current);
}

/** A decider that creates a span for each decision, as a child of the span of the call. */
class TracedDecider implements Decider {
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
    this.#decider.decide(request, format, new TracedDecisionReply(reply, span, OUTCOMES));
  }
}
