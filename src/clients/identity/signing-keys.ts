import type { JWK } from 'jose';

/** Maximum number of keys of a set. */
const MAX_KEYS = 100;

/** The modulus of an RSA key of 2048 and 4096 bits in base64url. A larger key makes each verification expensive. */
const MIN_MODULUS_LENGTH = 342;
const MAX_MODULUS_LENGTH = 683;

/** The algorithms of keys that do not name theirs, by their type. Keys that are secrets have none. */
const OF_RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const OF_CURVES: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
};

/** A public key with which an issuer signs tokens. */
export interface SigningKey {
  readonly jwk: JWK;
  /** The algorithms of the tokens that the key verifies. */
  readonly algorithms: readonly string[];
}

/**
 * Reads a JSON Web Key Set (RFC 7517). Keys that verify no signatures are ignored.
 *
 * @throws Error if the text is no key set, or has too many keys
 */
export function readSigningKeys(text: string): readonly SigningKey[] {
  return keysOf(text).flatMap(key => {
    if (typeof key !== 'object' || key === null) return [];
    const jwk = publicPart(key as JWK);
    const algorithms = algorithmsOf(jwk);
    return algorithms.length > 0 ? [{ jwk, algorithms }] : [];
  });
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

function algorithmsOf({ kty, crv, alg, use, n }: JWK): readonly string[] {
  if (use !== undefined && use !== 'sig') return [];
  const ofCurve = kty === 'EC' || kty === 'OKP' ? OF_CURVES[String(crv)] : undefined;
  const ofType = kty === 'RSA' && isSized(n) ? OF_RSA : ofCurve === undefined ? [] : [ofCurve];
  return alg === undefined ? ofType : ofType.filter(name => name === alg);
}

function isSized(modulus: unknown): boolean {
  return (
    typeof modulus === 'string' &&
    modulus.length >= MIN_MODULUS_LENGTH &&
    modulus.length <= MAX_MODULUS_LENGTH
  );
}

/** An issuer that publishes private keys by mistake must not make them part of this process. */
function publicPart({ kty, kid, alg, use, key_ops, crv, x, y, n, e }: JWK): JWK {
  const part = { kty, kid, alg, use, key_ops, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as JWK;
}
