import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { IdentityFault } from './identity-fault.ts';
import { type KeySet, readKeySet } from './key-set.ts';

/** How long downloaded keys are used without asking again (specification 3.12). */
const FRESH_MS = 600_000;
/** How long they are used while the provider does not answer. */
const KEEP_MS = 86_400_000;
/** Between two downloads. */
const APART_MS = 60_000;
/** Between two downloads while there are no keys that may be used. */
const APART_WITHOUT_MS = 5_000;

/** The current keys of the identity provider. At most one download runs at a time, and only when a token needs it. */
export class ProviderKeys {
  readonly #download: () => Promise<string>;
  readonly #clock: Clock;
  readonly #log: Logger;
  #keys: KeySet | null = null;
  /** When they were downloaded. */
  #sinceMs = 0;
  #triedMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | null = null;
  #isDown = false;

  constructor(download: () => Promise<string>, clock: Clock, log: Logger) {
    this.#download = download;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * The keys that count now. A call waits for a download if there are no fresh keys, but not for a provider that has
   * failed already while older keys may still be used.
   *
   * @throws (also as a rejection) IdentityFault `unavailable`
   */
  current(): KeySet | Promise<KeySet> {
    const last = this.#usable();
    if (last !== null && this.#isWithin(FRESH_MS, this.#sinceMs)) return last;
    const download = this.#mayTry() ? this.#renew() : this.#running;
    if (last !== null && this.#isDown) return last;
    return download === null ? this.#last() : download.then(() => this.#last());
  }

  /** Looks for a key that is not among the current ones. Downloads keys once a minute at most. */
  async searched(): Promise<KeySet> {
    await (this.#mayTry() ? this.#renew() : this.#running);
    return this.#last();
  }

  #last(): KeySet {
    const last = this.#usable();
    if (last !== null) return last;
    throw new IdentityFault('unavailable', 'the keys of the identity provider cannot be downloaded');
  }

  #usable(): KeySet | null {
    return this.#isWithin(KEEP_MS, this.#sinceMs) ? this.#keys : null;
  }

  #mayTry(): boolean {
    if (this.#running !== null) return false;
    return !this.#isWithin(this.#usable() === null ? APART_WITHOUT_MS : APART_MS, this.#triedMs);
  }

  /** A clock that is set back must not make keys last, or downloads wait. */
  #isWithin(durationMs: number, sinceMs: number): boolean {
    const ageMs = this.#clock.nowMs() - sinceMs;
    return ageMs >= 0 && ageMs < durationMs;
  }

  #renew(): Promise<void> {
    this.#triedMs = this.#clock.nowMs();
    this.#running = this.#load().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #load(): Promise<void> {
    try {
      const keys = readKeySet(await this.#download());
      this.#sinceMs = this.#clock.nowMs();
      // The same object for the same keys, so that verified tokens stay verified.
      if (keys.text !== this.#keys?.text) this.#keys = keys;
      if (this.#isDown) this.#log.warning('Identity provider: keys downloaded again');
      this.#isDown = false;
    } catch (failure) {
      if (!this.#isDown) {
        this.#log.warning(
          'Identity provider: keys could not be downloaded; the last ones are used for up to 24h, then JWT logins fail',
          { error: asError(failure).message },
        );
      }
      this.#isDown = true;
    }
  }
}
