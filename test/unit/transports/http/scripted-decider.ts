import type { Decider, DecisionReply, ResponseFormat } from '../../../../src/decision/decider.ts';

/** A request that the decider was asked about. */
export interface AskedDecision {
  readonly request: Uint8Array;
  readonly format: ResponseFormat;
  readonly reply: DecisionReply;
}

/** Decides by a function, at once or later, and keeps what it was asked. */
export class ScriptedDecider implements Decider {
  readonly asked: AskedDecision[] = [];
  #script: (reply: DecisionReply) => void;
  #heard: (asked: AskedDecision) => void = () => {};

  constructor(script: (reply: DecisionReply) => void) {
    this.#script = script;
  }

  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    const asked = { request: request.slice(), format, reply };
    this.asked.push(asked);
    this.#heard(asked);
    this.#script(reply);
  }

  /** From now on decisions are made by `script`. */
  become(script: (reply: DecisionReply) => void): void {
    this.#script = script;
  }

  /** The next request. Call it before the request is sent. */
  next(): Promise<AskedDecision> {
    return new Promise(resolve => {
      this.#heard = resolve;
    });
  }
}
