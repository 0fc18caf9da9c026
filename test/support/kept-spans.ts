import type { TraceContext } from '../../src/base/trace-context.ts';
import {
  type CallSpan,
  type CallTracing,
  type ChildOptions,
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
  /** Spans that it links to. */
  readonly links: KeptSpan[];
  readonly kind: string;
  /** The context that the first span of a trace links to; null for none, undefined for other spans. */
  readonly linked?: TraceContext | null;
  /** Undefined if it began and ended when it was told to. */
  readonly beganMs?: number | undefined;
  endMs?: number | undefined;
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
    const span = new OpenSpan(this.ended, {
      name,
      attributes,
      parent: header('traceparent'),
      kind: 'server',
    });
    this.begun.push(span.kept);
    return span;
  }

  beginLinked(name: string, linked: TraceContext | null): CallSpan {
    const span = new OpenSpan(this.ended, { name, attributes: {}, parent: '', kind: 'client', linked });
    this.begun.push(span.kept);
    return span;
  }
}

interface Begun extends Pick<KeptSpan, 'name' | 'parent' | 'kind' | 'linked'> {
  readonly attributes: SpanAttributes;
}

class OpenSpan implements CallSpan {
  readonly recording = true;
  readonly context = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: '' };
  readonly kept: KeptSpan;
  readonly #ended: KeptSpan[];

  constructor(ended: KeptSpan[], { attributes, ...begun }: Begun, options: Partial<ChildOptions> = {}) {
    this.#ended = ended;
    const { beganMs, links = [] } = options;
    this.kept = {
      ...begun,
      attributes: { ...attributes },
      children: [],
      links: links.map(each => (each as OpenSpan).kept),
      beganMs,
    };
  }

  child(name: string, attributes: SpanAttributes, options?: ChildOptions): CallSpan {
    const kind = options?.kind ?? 'internal';
    const child = new OpenSpan(this.#ended, { name, attributes, parent: '', kind }, options);
    this.kept.children.push(child.kept);
    return child;
  }

  add(attributes: SpanAttributes): void {
    Object.assign(this.kept.attributes, attributes);
  }

  link(other: CallSpan): void {
    this.kept.links.push((other as OpenSpan).kept);
  }

  end(attributes: SpanAttributes, failure: string, endMs?: number): void {
    if (this.kept.failure !== undefined) throw new Error(`${this.kept.name} has ended already`);
    this.add(attributes);
    this.kept.failure = failure;
    this.kept.endMs = endMs;
    this.#ended.push(this.kept);
  }
}
