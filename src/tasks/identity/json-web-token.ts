/** Longer tokens are not accepted. */
const MAX_LENGTH = 8_192;
/** The tenant is read from tokens up to this length only, because a thread does it that must not be busy for long. */
const MAX_ROUTED_LENGTH = 4_096;
const PATTERN = /^eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Whether a bearer token has the form of a signed JSON Web Token (RFC 7519). Tokens of this service do not. */
export function isJwtText(text: string): boolean {
  return text.length <= MAX_LENGTH && PATTERN.test(text);
}

/**
 * The text of a claim, for finding the tenant of a request. Nothing is verified, so the claim may be forged.
 *
 * @returns null if the claim is missing or no text, and for tokens above 4 KiB
 */
export function unverifiedClaim(text: string, name: string): string | null {
  if (text.length > MAX_ROUTED_LENGTH || !isJwtText(text)) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(text.split('.', 2)[1], 'base64url').toString());
    return textClaim(claims as Readonly<Record<string, unknown>> | null, name);
  } catch {
    return null;
  }
}

/** A claim that is a text; null for any other, and for one that is only inherited. */
export function textClaim(claims: Readonly<Record<string, unknown>> | null, name: string): string | null {
  const value = claims !== null && Object.hasOwn(claims, name) ? claims[name] : null;
  return typeof value === 'string' ? value : null;
}

/**
 * - `invalid`: the token is not accepted
 * - `expired`: it was valid
 * - `unavailable`: the keys of the identity provider are not known, so nothing can be said about the token
 * - `too_many`: too many tokens were rejected, so this one was not verified
 */
type IdentityFaultCode = 'invalid' | 'expired' | 'unavailable' | 'too_many';

/** Why a JSON Web Token does not log in. The message is for the caller and contains nothing of the token. */
export class IdentityFault extends Error {
  readonly code: IdentityFaultCode;

  constructor(code: IdentityFaultCode, message: string) {
    super(message);
    this.name = 'IdentityFault';
    this.code = code;
  }
}
