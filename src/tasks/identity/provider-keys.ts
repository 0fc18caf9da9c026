import { createSecureContext, type SecureContext } from 'node:tls';
import { createLocalJWKSet, errors, type JWK, type JWTVerifyGetKey } from 'jose';
import { Agent, request } from 'undici';
import { type Clock, DAY_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { readSigningKeys } from '../../clients/identity/signing-keys.ts';
import { IdentityFault } from './json-web-token.ts';

/** The algorithms of the tokens of a provider. */
const ALGORITHMS = new Set(['RS256', 'ES256', 'EdDSA']);

/** The public keys with which an identity provider signs. */
export interface KeySet {
  /** Equal texts mean equal keys. */
  readonly text: string;
  /** Finds the key of a token. */
  readonly find: JWTVerifyGetKey;
}

/**
 * Reads a JSON Web Key Set (RFC 7517). Keys that no accepted algorithm uses are ignored.
 *
 * @throws Error if the text is no key set, has too many keys, or has none that can be used
 */
function readKeySet(text: string): KeySet {
  const usable = readSigningKeys(text).filter(({ algorithms }) =>
    algorithms.some(name => ALGORITHMS.has(name)),
  );
  const keys = usable.map(({ jwk }) => jwk);
  if (keys.length === 0) throw new Error('the key set has no key for RS256, ES256 or EdDSA');
  return { text: JSON.stringify(keys), find: finder(keys) };
}

function finder(keys: JWK[]): JWTVerifyGetKey {
  const find = createLocalJWKSet({ keys });
  return async (header, token) => {
    try {
      return await find(header, token);
    } catch (failure) {
      if (failure instanceof errors.JOSEError) throw failure;
      throw new IdentityFault(
        'invalid',
        'the key (kid) of the token is damaged in the key set of the provider',
      );
    }
  };
}

const MAX_BYTES = 256 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** From the look-up of the name to the last byte. */
const TIMEOUT_MS = 5_000;

/**
 * Downloads the keys of an identity provider. The operator has chosen the URL, so private addresses are allowed, unlike
 * for the URLs of tenants. Redirects are not followed.
 */
export class KeyDownload {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #running = new Set<AbortController>();
  #secureContext: SecureContext | null = null;
  #stopped = false;

  constructor(url: string, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  /** @throws (rejects with) Error if there is no complete answer with status 200 within 5 seconds */
  async read(): Promise<string> {
    const aborting = new AbortController();
    if (this.#stopped) aborting.abort(new Error('the service is shutting down'));
    const timer = this.#clock.after(TIMEOUT_MS, () =>
      aborting.abort(new Error(`no complete response within ${TIMEOUT_MS} ms`)),
    );
    const agent = this.#agent();
    this.#running.add(aborting);
    try {
      const { statusCode, body } = await request(this.#url, {
        dispatcher: agent,
        signal: aborting.signal,
        headers: { accept: 'application/json' },
      });
      if (statusCode !== 200) throw new Error(`the answer has status ${statusCode}, not 200`);
      return await body.text();
    } finally {
      timer.cancel();
      this.#running.delete(aborting);
      await agent.destroy();
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const aborting of this.#running) aborting.abort(new Error('the service is shutting down'));
  }

  #agent(): Agent {
    if (this.#url.startsWith('https:')) this.#secureContext ??= createSecureContext({ ca: trustedCas() });
    return new Agent({
      connect: { ...(this.#secureContext && { secureContext: this.#secureContext }), timeout: TIMEOUT_MS },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      maxResponseSize: MAX_BYTES,
    });
  }
}

/** How long downloaded keys are used without asking again (specification 3.12). */
const FRESH_MS = 600_000;
/** How long they are used while the provider does not answer. */
const KEEP_MS = DAY_MS;
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
