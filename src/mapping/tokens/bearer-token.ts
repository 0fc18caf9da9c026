import type { Claims } from '../claims.ts';

/** Longer tokens are not read. */
const MAX_LENGTH = 8_192;

/** A signed token (RFC 7515, 7.1), whose header and claims are JSON. */
const SIGNED = /^eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

const SCHEME = /^bearer +/i;

/** The token in a header; empty if there is none, `null` if what is there cannot be one. */
export function bearerToken(header: string): string | null {
  const text = header.replace(SCHEME, '').trim();
  if (text === '') return '';
  return text.length <= MAX_LENGTH && SIGNED.test(text) ? text : null;
}

/** The claims of a token, which may be forged; null if they cannot be read. */
export function uncheckedClaims(token: string): Claims | null {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.', 2)[1], 'base64url').toString());
    return typeof claims === 'object' && !Array.isArray(claims) ? (claims as Claims | null) : null;
  } catch {
    return null;
  }
}
