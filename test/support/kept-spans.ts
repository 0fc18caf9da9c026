import {
  type CallSpan,
  type CallTracing,
  CurrentSpan,
  type SpanAttributes,
} from '../../src/transports/tracing.ts';

/** A span as it has ended, or as it is so far. */
export interface KeptSpan {
  readonly name: string;
  /** `traceparent` of the call; empty for a child. */
  readonly parent: string;
  readonly attributes: Record<string, string | number | boolean>;
  readonly children: KeptSpan[];
  /** Undefined until it has ended. */
  failure?: string;
}

/** Tracing that keeps the spans. */
export class KeptSpans implements CallTracing {
  readonly current = new CurrentSpan();
  /** Spans of calls, in the order in which they began. */
  readonly begun: KeptSpan[] = [];
  /** All spans, in the order in which they ended. */
  readonly ended: KeptSpan[] = [];

  begin(name: string, attributes: SpanAttributes, header: (name: string) => string): CallSpan {
    const span: KeptSpan = {
      name,
      parent: header('traceparent'),
      attributes: { ...attributes },
      children: [],
    };
    this.begun.push(span);
    return this.#open(span);
  }

  #open(span: KeptSpan): CallSpan {
    const number = this.begun.length.toString(16).padStart(16, '0');
    return {
      recording: true,
      context: { traceparent: `00-${'a'.repeat(32)}-${number}-01`, tracestate: '' },
      child: (name, attributes) => {
        const child: KeptSpan = { name, parent: '', attributes: { ...attributes }, children: [] };
        span.children.push(child);
        return this.#open(child);
      },
      add: attributes => Object.assign(span.attributes, attributes),
      end: (attributes, failure) => {
        if (span.failure !== undefined) throw new Error(`${span.name} has ended already`);
        Object.assign(span.attributes, attributes);
        span.failure = failure;
        this.ended.push(span);
      },
    };
  }
}
