import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { IdentityFault, textClaim } from './json-web-token.ts';
import type { KeySet, ProviderKeys } from './provider-keys.ts';

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
/** How far the clocks of provider and service may differ. */
const SKEW_SECONDS = 60;
const MAX_TOKENS = 10_000;
const MAX_NAME_LENGTH = 100;
const MAX_ROLES = 100;
/** The values that `external_id` of a user accepts. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** Required and optional claims of tokens. */
export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  /** Names of claims; empty for none. */
  readonly tenantClaim: string;
  readonly roleClaim: string;
}

/** The user of a verified token. */
export interface Identity {
  readonly subject: string;
  readonly name: string;
  /** Null if no claim is configured, or the token does not have it. */
  readonly tenant: string | null;
  readonly roles: readonly string[] | null;
}

interface Verified {
  readonly identity: Identity;
  /** Under which the token was verified. */
  readonly keys: KeySet;
  readonly endsMs: number;
}

/**
 * Verifies JSON Web Tokens of the identity provider. A verified token is remembered by its hash until it expires or the
 * keys of the provider change, so each token costs one verification.
 */
export class VerifiedTokens {
  readonly #rules: TokenRules;
  readonly #keys: ProviderKeys;
  readonly #verified = new LRUCache<string, Verified>({ max: MAX_TOKENS });

  constructor(rules: TokenRules, keys: ProviderKeys) {
    this.#rules = rules;
    this.#keys = keys;
  }

  /** @throws (rejects with) IdentityFault */
  async verify(text: string, nowMs: number): Promise<Identity> {
    const name = hash('sha256', text, 'hex');
    const keys = await this.#keys.current();
    const known = this.#verified.get(name);
    if (known !== undefined && known.keys === keys) {
      if (nowMs < known.endsMs) return known.identity;
      this.#verified.delete(name);
    }
    const verified = await this.#check(text, keys, nowMs);
    this.#verified.set(name, verified);
    return verified.identity;
  }

  async #check(text: string, keys: KeySet, nowMs: number): Promise<Verified> {
    try {
      return await this.#checkBy(text, keys, nowMs);
    } catch (failure) {
      if (!(failure instanceof errors.JWKSNoMatchingKey)) throw faultOf(failure);
    }
    const searched = await this.#keys.searched();
    try {
      return await this.#checkBy(text, searched, nowMs);
    } catch (failure) {
      throw faultOf(failure);
    }
  }

  async #checkBy(text: string, keys: KeySet, nowMs: number): Promise<Verified> {
    const { issuer, audience } = this.#rules;
    const { payload } = await jwtVerify(text, keys.find, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: SKEW_SECONDS,
      currentDate: new Date(nowMs),
    });
    const endsMs = ((payload.exp ?? 0) + SKEW_SECONDS) * 1_000;
    return { identity: this.#identityOf(payload), keys, endsMs };
  }

  #identityOf(claims: JWTPayload): Identity {
    const { tenantClaim, roleClaim } = this.#rules;
    const subject = textClaim(claims, 'sub');
    if (subject === null || !SUBJECT.test(subject)) {
      throw new IdentityFault(
        'invalid',
        'the subject (sub) of the token is not a string of 1 to 255 characters',
      );
    }
    return {
      subject,
      name: (textClaim(claims, 'name') ?? '').replaceAll(/[\p{Cc}\p{Cs}]/gu, '').slice(0, MAX_NAME_LENGTH),
      tenant: tenantClaim === '' ? null : textClaim(claims, tenantClaim),
      roles: roleClaim === '' ? null : rolesOf(claims, roleClaim),
    };
  }
}

/** A text or a list of texts; null if the token does not have the claim. */
function rolesOf(claims: JWTPayload, name: string): readonly string[] | null {
  if (!Object.hasOwn(claims, name)) return null;
  const value = claims[name];
  const values: readonly unknown[] = Array.isArray(value) ? value.slice(0, MAX_ROLES) : [value];
  return values.filter(role => typeof role === 'string');
}

const OF_CLAIMS: Readonly<Record<string, string>> = {
  iss: 'the issuer (iss) of the token is not the one that is accepted here',
  aud: 'the audience (aud) of the token does not include this service',
  nbf: 'the token is not valid yet (nbf)',
};

/** Why a token was not verified. The messages of the library are not used, because they may contain claims. */
function faultOf(failure: unknown): unknown {
  if (failure instanceof errors.JWTExpired) {
    return new IdentityFault('expired', 'the token has expired: log in again');
  }
  if (failure instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = failure;
    if (reason === 'missing') return new IdentityFault('invalid', `the token has no claim ${claim}`);
    return new IdentityFault('invalid', OF_CLAIMS[claim] ?? `the claim ${claim} of the token is not valid`);
  }
  if (failure instanceof errors.JOSEAlgNotAllowed) {
    return new IdentityFault('invalid', 'the token is not signed with RS256, ES256 or EdDSA');
  }
  if (failure instanceof errors.JWKSNoMatchingKey || failure instanceof errors.JWKSMultipleMatchingKeys) {
    return new IdentityFault('invalid', 'the key (kid) of the token is not among those of the provider');
  }
  if (failure instanceof errors.JWSSignatureVerificationFailed) {
    return new IdentityFault('invalid', 'the signature of the token is not valid');
  }
  if (failure instanceof errors.JOSEError) return new IdentityFault('invalid', 'the token cannot be read');
  return failure;
}
