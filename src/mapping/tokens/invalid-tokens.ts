import type { Logger } from '../../base/logger.ts';
import type { KeySet } from './key-set.ts';

/**
 * Logs why tokens are not valid: each reason once for each key set, because every client can send such tokens. A mistake in the
 * keys or in the rule makes all tokens invalid, and the limits of requests without a token apply. The lines have no part of a
 * token.
 */
export class InvalidTokens {
  readonly #file: string;
  readonly #log: Logger;
  readonly #reported = new Set<string>();
  #keys: KeySet | null = null;

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** @param failure what the check has thrown */
  report(failure: unknown, keys: KeySet): void {
    if (keys !== this.#keys) this.#reported.clear();
    this.#keys = keys;
    const reason = reasonOf(failure);
    if (this.#reported.has(reason)) return;
    this.#reported.add(reason);
    this.#log.warning('A token is not valid; further ones are not logged for this reason', {
      file: this.#file,
      reason,
      advice:
        'if all tokens are affected, compare the keys, the issuer and the audience with those of the tokens',
    });
  }
}

/** The code of an error of `jose`, with the claim that it concerns. Its message is not used, as it may quote the token. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'unknown';
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : failure.name;
  const claim = 'claim' in failure && isChecked(failure.claim) ? failure.claim : '';
  return claim === '' ? code : `${code} ${claim}`;
}

/** Other claims have names that clients choose. */
const CHECKED_CLAIMS = ['iss', 'aud', 'exp', 'nbf', 'iat'];

function isChecked(claim: unknown): claim is string {
  return typeof claim === 'string' && CHECKED_CLAIMS.includes(claim);
}
