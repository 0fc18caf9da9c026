import { NotReadyError, type ReadinessChecks, type ReadinessOutcomes } from './health-routes.ts';

/**
 * Readiness checks that run in another thread. All checks of a request share one question, and there is at most one
 * question at a time, so a thread that does not answer gets no further ones.
 */
export class AskedReadiness {
  readonly checks: ReadinessChecks;
  readonly #ask: () => void;
  #asked: PromiseWithResolvers<ReadinessOutcomes> | null = null;
  #isLost = false;

  /**
   * @param names names of the checks of the other thread
   * @param ask asks the other thread, which answers with the outcomes of its checks
   */
  constructor(names: readonly string[], ask: () => void) {
    this.#ask = ask;
    this.checks = Object.fromEntries(names.map(name => [name, () => this.#check(name)]));
  }

  heard(outcomes: ReadinessOutcomes): void {
    this.#asked?.resolve(outcomes);
    this.#asked = null;
  }

  /** The connection to the other thread is lost. From now on, all checks fail. */
  lost(): void {
    this.#isLost = true;
    this.#asked?.reject(lostError());
    this.#asked = null;
  }

  async #check(name: string): Promise<void> {
    const { outcome, cause } = (await this.#outcomes()).get(name)!;
    if (outcome === 'ok') return;
    throw cause === null ? new Error(outcome) : new NotReadyError(cause, outcome);
  }

  #outcomes(): Promise<ReadinessOutcomes> {
    if (this.#isLost) return Promise.reject(lostError());
    if (this.#asked === null) {
      this.#asked = Promise.withResolvers();
      this.#ask();
    }
    return this.#asked.promise;
  }
}

function lostError(): Error {
  return new Error('the connection to the primary thread is lost');
}
