import { createHmac } from 'node:crypto';

/** Number of hexadecimal digits of a hash: 64 bits, of which two of a million values are equal with a chance of 3 in 10^8. */
const DIGITS = 16;

/** Marks a text as a hash. */
const MARK = 'hash:';

/**
 * The hash of a text under a secret key (HMAC-SHA-256, RFC 2104, truncated). Equal texts have equal hashes, and without the
 * key nobody can find out which text a hash is of, not even by trying all texts.
 */
export function keyedHash(key: Uint8Array, text: Uint8Array): string {
  return MARK + createHmac('sha256', key).update(text).digest('hex').slice(0, DIGITS);
}
