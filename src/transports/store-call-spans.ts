import type { TimedCall } from '../counters/timed-call.ts';
import type { StoreSpans } from '../decision/batch-observer.ts';
import type { DecisionReply } from '../decision/decider.ts';
import { type CallSpan, type SpanAttributes, TracedDecisionReply } from './tracing.ts';

/** What the spans of one kind of store have in common. */
export interface StoreDescription {
  readonly name: string;
  /** `client` for a server, `internal` for counters in this process. */
  readonly kind: 'client' | 'internal';
  readonly attributes: SpanAttributes;
  /** Further attributes, for the keys of a batch. */
  readonly ofKeys: (call: Pick<TimedCall, 'keys' | 'keysPerSecond'>) => SpanAttributes;
}

/** Maximum number of spans that a span links to. Libraries and collectors drop further links. */
const MAX_LINKS = 128;

/**
 * Creates one span for each call of the store, which counts the requests of a whole batch. It is a child of the decision of
 * the first traced request. It links to the decisions of the others, and these link to it, so that the call is found from
 * each trace.
 */
export class StoreCallSpans implements StoreSpans {
  readonly #description: StoreDescription;

  constructor(description: StoreDescription) {
    this.#description = description;
  }

  called(replies: readonly DecisionReply[], call: TimedCall): void {
    const [first, ...others] = tracedOf(replies);
    if (first === undefined) return;
    const { name, kind, attributes, ofKeys } = this.#description;
    const { beganMs, durationMs, keys, failure } = call;
    const described = {
      ...attributes,
      'sluice.batch.requests': replies.length,
      ...(keys > 1 && { 'db.operation.batch.size': keys }),
      ...ofKeys(call),
    };
    const span = first.child(name, described, { kind, beganMs, links: others });
    for (const other of others) other.link(span);
    if (failure === null) span.end({}, '', beganMs + durationMs);
    else span.end({ 'error.type': failure.type }, failure.message, beganMs + durationMs);
  }
}

/** The decisions that are traced, at most one more than a span may link to. */
function tracedOf(replies: readonly DecisionReply[]): CallSpan[] {
  const spans: CallSpan[] = [];
  for (const reply of replies) {
    if (!(reply instanceof TracedDecisionReply) || !reply.span.recording) continue;
    spans.push(reply.span);
    if (spans.length > MAX_LINKS) break;
  }
  return spans;
}
