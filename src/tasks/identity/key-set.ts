import { createLocalJWKSet, errors, type JWK, type JWTVerifyGetKey } from 'jose';
import { IdentityFault } from './identity-fault.ts';

/** Maximum number of keys of a provider. */
const MAX_KEYS = 100;
/** The modulus of an RSA key of 2048 and 4096 bits in base64url. A larger key makes each verification expensive. */
const MIN_MODULUS_LENGTH = 342;
const MAX_MODULUS_LENGTH = 683;

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
export function readKeySet(text: string): KeySet {
  const keys = keysOf(text).filter(isUsable).map(publicPart);
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

function keysOf(text: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error('the key set is not JSON');
  }
  const keys = typeof parsed === 'object' && parsed !== null && 'keys' in parsed ? parsed.keys : null;
  if (!Array.isArray(keys)) throw new Error('the key set has no array "keys"');
  if (keys.length > MAX_KEYS)
    throw new Error(`the key set has ${keys.length} keys, and may have ${MAX_KEYS}`);
  return keys;
}

function isUsable(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, crv, n, use } = key as Readonly<Record<string, unknown>>;
  if (use !== undefined && use !== 'sig') return false;
  if (kty === 'RSA')
    return typeof n === 'string' && n.length >= MIN_MODULUS_LENGTH && n.length <= MAX_MODULUS_LENGTH;
  return (kty === 'EC' && crv === 'P-256') || (kty === 'OKP' && crv === 'Ed25519');
}

/** A provider that publishes private keys by mistake must not make them part of this process. */
function publicPart({ kty, kid, alg, use, key_ops, crv, x, y, n, e }: JWK): JWK {
  const part = { kty, kid, alg, use, key_ops, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as JWK;
}
