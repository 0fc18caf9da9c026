import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import { recentlyUsed } from '../../base/collections/recently-used.ts';
import type { Logger } from '../../base/logger.ts';
import type { TokenRule } from '../../rules/request-mapping.ts';
import { type Claims, claimOf } from '../claims.ts';
import { firstToken, lastToken, uncheckedClaims } from './bearer-token.ts';
import type { CheckQueue } from './check-queue.ts';
import { InvalidTokens } from './invalid-tokens.ts';
import { KeyFile } from './key-file.ts';
import { type KeySet, verify } from './key-set.ts';

/** How far the clocks of issuer and service may differ. */
const SKEW_S = 60;

/** Number of tokens whose claims are remembered. */
const MAX_TOKENS = 10_000;

/** How long they are remembered: valid ones until they expire if that is earlier. */
const VALID_MS = 5 * MINUTE_MS;
const INVALID_MS = 10 * SECOND_MS;

/** What is remembered of a token. */
interface KnownToken {
  /** Null if the token is invalid. */
  readonly claims: Claims | null;
  /** With which the token was checked. */
  readonly keys: KeySet | null;
  readonly endsMs: number;
}

/** What the reading of tokens needs of its thread. */
export interface TokenParts {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Logger;
  /** Tokens that are not checked because too many wait count as invalid. */
  readonly checks: CheckQueue;
  /** Called for each request with a token that is not valid. */
  readonly invalid: () => void;
}

/**
 * The claims of the tokens of a domain. A token that is not valid is as if it had no claims: limits for unknown users apply,
 * and the proxy or the program behind it refuses the token if it needs one.
 *
 * Each token is checked once while it is remembered, by its hash.
 */
export class TokenClaims {
  readonly #rule: TokenRule;
  readonly #names: readonly string[];
  readonly #parts: TokenParts;
  /** Null if tokens are only read. */
  readonly #file: KeyFile | null;
  readonly #failures: InvalidTokens;
  readonly #known = recentlyUsed<string, KnownToken>(MAX_TOKENS);
  readonly #checks = new Map<string, Promise<Claims | null>>();

  /**
   * @param names of the claims that are read
   * @param file that of the rule, if its keys are already known
   */
  constructor(rule: TokenRule, names: readonly string[], parts: TokenParts, file: KeyFile | null = null) {
    this.#rule = rule;
    this.#names = names;
    this.#parts = parts;
    this.#failures = new InvalidTokens(rule.jwksPath, parts.log);
    this.#file = rule.jwksFile === '' ? null : (file ?? new KeyFile(rule.jwksPath, parts.clock, parts.log));
  }

  /** Keeps what `before` knows, as far as the rule and the names are still the same. */
  static after(
    before: TokenClaims | null,
    rule: TokenRule,
    names: readonly string[],
    parts: TokenParts,
  ): TokenClaims {
    if (before === null) return new TokenClaims(rule, names, parts);
    if (isDeepStrictEqual([before.#rule, before.#names], [rule, names])) return before;
    const file = before.#rule.jwksPath === rule.jwksPath ? before.#file : null;
    return new TokenClaims(rule, names, parts, file);
  }

  /**
   * The claims of the token in a header, at once if that is possible.
   *
   * @returns null if there is no valid token; the promise never rejects
   */
  of(header: string): Claims | null | Promise<Claims | null> {
    if (header === '') return null;
    const token = firstToken(header);
    if (token === '') return null;
    if (token === null) return this.#counted(null);
    const claims = header.includes(',') ? this.#ofEither(token, lastToken(header)) : this.#ofToken(token);
    return claims instanceof Promise ? claims.then(read => this.#counted(read)) : this.#counted(claims);
  }

  /**
   * The claims of the first valid one of two tokens. Of a repeated header, some programs read the first value and others the
   * last one. A client could otherwise avoid its limit by sending something else with its token.
   */
  #ofEither(first: string, last: string): Claims | null | Promise<Claims | null> {
    const claims = this.#ofToken(first);
    if (last === first) return claims;
    if (claims instanceof Promise) return claims.then(read => read ?? this.#ofToken(last));
    return claims ?? this.#ofToken(last);
  }

  #ofToken(token: string): Claims | null | Promise<Claims | null> {
    if (this.#file === null) return uncheckedClaims(token);
    const name = hash('sha256', token, 'base64');
    const known = this.#knownOf(name, this.#file);
    return known === null ? this.#checkOnce(token, name, this.#file) : known.claims;
  }

  #counted(claims: Claims | null): Claims | null {
    if (claims === null) this.#parts.invalid();
    return claims;
  }

  #knownOf(name: string, file: KeyFile): KnownToken | null {
    const known = this.#known.get(name);
    if (known === undefined) return null;
    void file.refresh();
    return known.keys === file.keys && this.#parts.clock.nowMs() < known.endsMs ? known : null;
  }

  /** Requests that arrive with the same token wait for one check. */
  #checkOnce(token: string, name: string, file: KeyFile): Promise<Claims | null> {
    const begun = this.#checks.get(name);
    if (begun !== undefined) return begun;
    const check = this.#parts.checks
      .run(() => this.#check(token, name, file))
      .finally(() => this.#checks.delete(name));
    this.#checks.set(name, check);
    return check;
  }

  async #check(token: string, name: string, file: KeyFile): Promise<Claims | null> {
    await file.refresh();
    const { keys } = file;
    const { clock } = this.#parts;
    const claims = keys === null ? null : await this.#verified(token, keys);
    const nowMs = clock.nowMs();
    const endsMs = claims === null ? nowMs + INVALID_MS : Math.min(nowMs + VALID_MS, expiryMs(claims));
    const read = claims === null ? null : this.#read(claims);
    this.#known.set(name, { claims: read, keys, endsMs });
    return read;
  }

  async #verified(token: string, keys: KeySet): Promise<Claims | null> {
    const { issuer, audience } = this.#rule;
    try {
      return await verify(token, keys, {
        ...(issuer !== '' && { issuer }),
        ...(audience !== '' && { audience }),
        clockTolerance: SKEW_S,
        currentDate: new Date(this.#parts.clock.nowMs()),
      });
    } catch (failure) {
      // Whatever is wrong with a token, also with its key: it proves nothing.
      this.#failures.report(failure, keys);
      return null;
    }
  }

  /** Only what descriptors need, so that remembered tokens take little memory. */
  #read(claims: Claims): Claims {
    return Object.fromEntries(this.#names.map(name => [name, claimOf(claims, name)]));
  }
}

function expiryMs({ exp }: Claims): number {
  return typeof exp === 'number' ? (exp + SKEW_S) * SECOND_MS : Number.POSITIVE_INFINITY;
}
