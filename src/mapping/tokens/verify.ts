import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { KeySet } from './key-set.ts';

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
