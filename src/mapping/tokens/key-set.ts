import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { readSigningKeys, type SigningKey } from '../../clients/identity/signing-keys.ts';

/** Public keys that verify tokens. */
export interface KeySet {
  /** The keys as text, whatever their order in the file. */
  readonly text: string;
  /** The algorithms of the keys. A token of another one is not accepted. */
  readonly algorithms: string[];
  readonly find: JWTVerifyGetKey;
}

/**
 * Reads a JSON Web Key Set (RFC 7517).
 *
 * @throws Error if the text is no key set, has too many keys, or has none that can be used
 */
export async function readKeySet(text: string): Promise<KeySet> {
  const read = await Promise.all(readSigningKeys(text).map(usable));
  const keys = read.flat();
  if (keys.length === 0) throw new Error('the key set has no public key for signatures that can be read');
  // Loaded only when needed, because loading it takes memory and time.
  const { createLocalJWKSet } = await import('jose');
  return {
    text: keys
      .map(({ jwk }) => JSON.stringify(jwk))
      .sort()
      .join(),
    algorithms: [...new Set(keys.flatMap(({ algorithms }) => algorithms))],
    find: createLocalJWKSet({ keys: keys.map(({ jwk }) => jwk) }),
  };
}

/** A key whose numbers are wrong is ignored, like one of another type (RFC 7517, 5). */
async function usable(key: SigningKey): Promise<readonly SigningKey[]> {
  const { importJWK } = await import('jose');
  try {
    await importJWK(key.jwk, key.algorithms[0]);
    return [key];
  } catch {
    return [];
  }
}

/**
 * Verifies a token with the keys that its head allows. Without a `kid`, these can be several; each of them is tried.
 *
 * @throws Error of `jose` if the token is not valid
 */
export async function verify(token: string, keys: KeySet, options: JWTVerifyOptions): Promise<JWTPayload> {
  const { errors, jwtVerify } = await import('jose');
  const checks = { ...options, algorithms: keys.algorithms };
  try {
    return (await jwtVerify(token, keys.find, checks)).payload;
  } catch (failure) {
    if (!(failure instanceof errors.JWKSMultipleMatchingKeys)) throw failure;
    let last: unknown = failure;
    for await (const key of failure) {
      try {
        return (await jwtVerify(token, key, checks)).payload;
      } catch (thrown) {
        if (!(thrown instanceof errors.JWSSignatureVerificationFailed)) throw thrown;
        last = thrown;
      }
    }
    throw last;
  }
}
