import type { JWTVerifyGetKey } from 'jose';
import { readSigningKeys } from '../../clients/identity/signing-keys.ts';

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
  const keys = readSigningKeys(text);
  if (keys.length === 0) throw new Error('the key set has no public key for signatures');
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
