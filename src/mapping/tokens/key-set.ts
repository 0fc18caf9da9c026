import type { JWK, JWTVerifyGetKey } from 'jose';

/** Maximum number of keys of a file. */
const MAX_KEYS = 100;

/** The modulus of an RSA key of 2048 and 4096 bits in base64url. A larger key makes each check expensive. */
const MIN_MODULUS_LENGTH = 342;
const MAX_MODULUS_LENGTH = 683;

/** The algorithms of the keys of each type that do not name theirs. Keys that are secrets have none. */
const OF_RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const OF_CURVES: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
};

/** Public keys that check tokens. */
export interface KeySet {
  /** The algorithms of the keys. A token of another one is not accepted. */
  readonly algorithms: string[];
  readonly find: JWTVerifyGetKey;
}

/**
 * Reads a JSON Web Key Set (RFC 7517). Keys that do not check signatures are ignored.
 *
 * @throws Error if the text is no key set, has too many keys, or has none that can be used
 */
export async function readKeySet(text: string): Promise<KeySet> {
  const keys = keysOf(text).filter(isUsable).map(publicPart);
  if (keys.length === 0) throw new Error('it has no public key for signatures');
  // Loaded only when needed, because loading it takes memory and time.
  const { createLocalJWKSet } = await import('jose');
  return {
    algorithms: [...new Set(keys.flatMap(algorithmsOf))],
    find: createLocalJWKSet({ keys }),
  };
}

function keysOf(text: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
  const keys = typeof parsed === 'object' && parsed !== null && 'keys' in parsed ? parsed.keys : null;
  if (!Array.isArray(keys)) throw new Error('it has no array "keys"');
  if (keys.length > MAX_KEYS) throw new Error(`it has ${keys.length} keys, and may have ${MAX_KEYS}`);
  return keys;
}

function isUsable(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false;
  const { n, use } = key as JWK;
  if (use !== undefined && use !== 'sig') return false;
  if (algorithmsOf(key as JWK).length === 0) return false;
  const isSized = typeof n === 'string' && n.length >= MIN_MODULUS_LENGTH && n.length <= MAX_MODULUS_LENGTH;
  return (key as JWK).kty !== 'RSA' || isSized;
}

function algorithmsOf({ kty, crv, alg }: JWK): readonly string[] {
  const ofCurve = kty === 'EC' || kty === 'OKP' ? OF_CURVES[crv ?? ''] : undefined;
  const ofType = kty === 'RSA' ? OF_RSA : ofCurve === undefined ? [] : [ofCurve];
  return alg === undefined ? ofType : ofType.filter(name => name === alg);
}

/** A file with private keys must not make them part of this process. */
function publicPart({ kty, kid, alg, use, key_ops, crv, x, y, n, e }: JWK): JWK {
  const part = { kty, kid, alg, use, key_ops, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as JWK;
}
