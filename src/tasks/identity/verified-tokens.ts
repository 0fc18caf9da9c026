import { hash } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { type Clock, SECOND_MS } from '../../base/clock.ts';
import { recentlyUsed } from '../../base/collections/recently-used.ts';
import { FailedAttempts } from '../../base/failed-attempts.ts';
import { IdentityFault, textClaim } from './json-web-token.ts';
import type { KeySet, ProviderKeys } from './provider-keys.ts';

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
/** How far the clocks of provider and service may differ. */
const SKEW_SECONDS = 60;
const MAX_TOKENS = 10_000;
const MAX_NAME_LENGTH = 100;
const MAX_ROLES = 100;
/** Rejected tokens of a tenant, without those of subjects that have logged in since the start. */
const OF_STRANGERS = { most: 50, withinMs: SECOND_MS, names: 10_000 } as const;
/** The same, for each subject that has. */
const OF_SUBJECT = { most: 5, withinMs: SECOND_MS, names: 10_000 } as const;
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

/** Where rejected tokens like the one that is being verified are counted. */
interface Failures {
  readonly of: FailedAttempts;
  readonly name: string;
}

interface Check {
  readonly failures: Failures;
  readonly nowMs: number;
}

/**
 * Verifies JSON Web Tokens of the identity provider. A verified token is remembered by its hash until it expires or the
 * keys of the provider change, so each token costs one verification.
 *
 * A forged token also costs a verification, and is not remembered. Rejected tokens are therefore limited for each
 * tenant. Subjects that have logged in before have a limit of their own, so tokens that are forged for others do not lock
 * them out.
 */
export class VerifiedTokens {
  readonly #rules: TokenRules;
  readonly #keys: ProviderKeys;
  readonly #verified = recentlyUsed<string, Verified>(MAX_TOKENS);
  /** Tenants and subjects with a verified token. */
  readonly #subjects = recentlyUsed<string, true>(MAX_TOKENS);
  readonly #ofStrangers: FailedAttempts;
  readonly #ofSubjects: FailedAttempts;
  /** The last of the verifications that wait for each other, by the name under which their failures are counted. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(rules: TokenRules, keys: ProviderKeys, clock: Clock) {
    this.#rules = rules;
    this.#keys = keys;
    this.#ofStrangers = new FailedAttempts(OF_STRANGERS, clock);
    this.#ofSubjects = new FailedAttempts(OF_SUBJECT, clock);
  }

  /**
   * @param tenant the tenant of the call; the token may name another one
   * @throws (rejects with) IdentityFault
   */
  async verify(text: string, tenant: string, nowMs: number): Promise<Identity> {
    const name = hash('sha256', text, 'hex');
    const keys = await this.#keys.current();
    const known = this.#verified.get(name);
    if (known !== undefined && known.keys === keys) {
      if (nowMs < known.endsMs) return known.identity;
      this.#verified.delete(name);
    }
    const claims = unverifiedClaims(text);
    if (isOver(claims?.exp, nowMs)) throw expired();
    const failures = this.#failuresOf(claims, tenant);
    const verified = await this.#check(text, keys, { failures, nowMs });
    this.#verified.set(name, verified);
    this.#subjects.set(subjectName(tenant, verified.identity.subject), true);
    return verified.identity;
  }

  #failuresOf(claims: JWTPayload | null, tenant: string): Failures {
    const subject = subjectName(tenant, claims === null ? null : textClaim(claims, 'sub'));
    const isKnown = this.#subjects.has(subject);
    return isKnown ? { of: this.#ofSubjects, name: subject } : { of: this.#ofStrangers, name: tenant };
  }

  async #check(text: string, keys: KeySet, how: Check): Promise<Verified> {
    try {
      return await this.#inTurn(how, () => this.#checkBy(text, keys, how));
    } catch (failure) {
      if (!(failure instanceof errors.JWKSNoMatchingKey)) throw faultOf(failure);
    }
    const searched = await this.#keys.searched();
    try {
      return await this.#inTurn(how, () => this.#checkBy(text, searched, how));
    } catch (failure) {
      throw faultOf(failure);
    }
  }

  /**
   * Runs one verification after the other of those whose failures are counted together. Otherwise a burst of forged tokens
   * would be verified as a whole before the first of them is counted.
   */
  #inTurn<T>({ failures: { name } }: Check, verify: () => Promise<T>): Promise<T> {
    const verified = (this.#turns.get(name) ?? Promise.resolve()).then(verify);
    const over = () => {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    };
    const turn = verified.then(over, over);
    this.#turns.set(name, turn);
    return verified;
  }

  async #checkBy(text: string, keys: KeySet, { failures, nowMs }: Check): Promise<Verified> {
    const { issuer, audience } = this.#rules;
    let isVerifying = false;
    const find: JWTVerifyGetKey = async (header, token) => {
      const key = await keys.find(header, token);
      if (failures.of.waitMs(failures.name) > 0) throw tooManyRejected();
      isVerifying = true;
      return key;
    };
    try {
      const { payload } = await jwtVerify(text, find, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(nowMs),
      });
      const endsMs = ((payload.exp ?? 0) + SKEW_SECONDS) * 1_000;
      return { identity: this.#identityOf(payload), keys, endsMs };
    } catch (failure) {
      if (isVerifying) failures.of.add(failures.name);
      throw failure;
    }
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

function tooManyRejected(): IdentityFault {
  return new IdentityFault('too_many', 'too many tokens were rejected, so the token was not verified');
}

function subjectName(tenant: string, subject: string | null): string {
  return `${tenant}\n${subject ?? ''}`;
}

/** Null if they cannot be read. */
function unverifiedClaims(text: string): JWTPayload | null {
  try {
    return decodeJwt(text);
  } catch {
    return null;
  }
}

/** A token that says itself that it has expired need not be verified, and is not counted as forged. */
function isOver(exp: unknown, nowMs: number): boolean {
  return typeof exp === 'number' && (exp + SKEW_SECONDS) * 1_000 <= nowMs;
}

function expired(): IdentityFault {
  return new IdentityFault('expired', 'the token has expired: log in again');
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
  if (failure instanceof errors.JWTExpired) return expired();
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
