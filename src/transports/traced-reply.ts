import type { Fault } from '../base/fault.ts';
import type { DecisionReply } from '../decision/decider.ts';
import type { CallSpan, SpanAttributes } from './tracing.ts';

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
