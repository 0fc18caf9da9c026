import { transferableSymbol, valueSymbol } from 'piscina';
import type { DecideResult } from '../../src/decision/pool/thread-messages.ts';

/** A result whose memory Piscina hands over instead of copying it. */
export class Moved {
  readonly #result: DecideResult;

  constructor(result: DecideResult) {
    this.#result = result;
  }

  get [transferableSymbol](): ArrayBuffer[] {
    return [this.#result.requests, this.#result.answers];
  }

  get [valueSymbol](): DecideResult {
    return this.#result;
  }
}
