import type { Claims } from '../claims.ts';

/** Longer tokens are not read. */
const MAX_LENGTH = 8_192;

/** A signed token (RFC 7515, 7.1), whose header and claims are JSON. */
const SIGNED = /^eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

const SCHEME = /^bearer(?:[ \t]+|$)/i;

/** Credentials of another scheme, or one of their parameters: those have commas between them (RFC 9110, 11.4). */
const OTHER_CREDENTIALS = /^[a-z0-9-]+(?:[ \t]+[^ \t]|[ \t]*=)/i;

const COMMA = ',';

/**
 * The first token in a header. Empty if the header has no token, and null if its text cannot be a token. The values of a
 * repeated header are joined with commas, which a token does not have.
 */
export function firstToken(header: string): string | null {
  let first: string | null = '';
  for (let start = 0; start <= header.length; ) {
    let end = header.indexOf(COMMA, start);
    if (end < 0) end = header.length;
    const token = tokenIn(header.slice(start, end));
    if (token !== null && token !== '') return token;
    if (token === null) first = null;
    start = end + 1;
  }
  return first;
}

/** The last token in a header. Empty if the header has no token. */
export function lastToken(header: string): string {
  for (let end = header.length; end >= 0; ) {
    // `lastIndexOf` begins at 0 for a negative index.
    const comma = end === 0 ? -1 : header.lastIndexOf(COMMA, end - 1);
    const token = tokenIn(header.slice(comma + 1, end));
    if (token !== null && token !== '') return token;
    end = comma;
  }
  return '';
}

function tokenIn(value: string): string | null {
  const credentials = value.trim();
  const text = credentials.replace(SCHEME, '');
  if (text === '') return '';
  if (text.length <= MAX_LENGTH && SIGNED.test(text)) return text;
  return text === credentials && OTHER_CREDENTIALS.test(text) ? '' : null;
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
