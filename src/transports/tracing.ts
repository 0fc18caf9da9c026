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
