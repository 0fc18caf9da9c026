import { setTimeout as pause } from 'node:timers/promises';

/** Between two calls of a caller, in milliseconds: an instance that starts meanwhile needs the machine as well. */
const PACE_MS = 2;

/** Callers that ask through a proxy, each one call after the other. */
export class Load {
  /** What became of calls that failed. */
  readonly failures: string[] = [];
  #calls = 0;
  #isGoing = true;
  #awaited: { readonly calls: number; readonly reached: () => void } | null = null;
  readonly #callers: Promise<unknown>;

  /** @param asks what each caller does again and again; rejects if the call has failed */
  constructor(asks: readonly (() => Promise<unknown>)[]) {
    this.#callers = Promise.all(asks.map(ask => this.#repeat(ask)));
  }

  /** Resolves when this many further calls have been answered. */
  goesOn(calls: number): Promise<void> {
    return new Promise(reached => {
      this.#awaited = { calls: this.#calls + calls, reached };
    });
  }

  async end(): Promise<void> {
    this.#isGoing = false;
    await this.#callers;
  }

  async #repeat(ask: () => Promise<unknown>): Promise<void> {
    while (this.#isGoing) {
      await ask().catch(failure => this.failures.push(String(failure)));
      this.#calls++;
      if (this.#calls === this.#awaited?.calls) this.#awaited.reached();
      await pause(PACE_MS);
    }
  }
}
