import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../../base/clock.ts';
import { FailedAttempts } from '../../../base/failed-attempts.ts';
import { asError } from '../../../base/fault.ts';
import { CountedWarning, type Logger } from '../../../base/logger.ts';
import type { RequestHead } from '../../http/routes.ts';
import { OperatorProblem } from './problem.ts';

/**
 * Returns the token of the operator; null if none is configured. A file is read again, so that the token can be rotated
 * without a restart.
 *
 * @throws (rejects with) Error that names the setting and the file, if the file cannot be read
 */
export type ReadAdminToken = () => Promise<string | null>;

/** Wrong tokens that a network may send within a minute. Further ones are answered with `rate_limited`. */
export const MAX_WRONG_TOKENS = 10;

const MAX_NETWORKS = 4_096;

interface AuthorizationParts {
  readonly token: ReadAdminToken;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is needed of a request that makes a change; the head of the request is not valid for that long. */
export interface Credentials {
  readonly authorization: string;
  readonly remoteAddress: string;
}

/** Decides who may make changes. */
export class Authorization {
  readonly #parts: AuthorizationParts;
  readonly #wrong: FailedAttempts;
  readonly #refused: CountedWarning;

  constructor(parts: AuthorizationParts) {
    this.#parts = parts;
    const bounds = { most: MAX_WRONG_TOKENS, withinMs: MINUTE_MS, names: MAX_NETWORKS };
    this.#wrong = new FailedAttempts(bounds, parts.clock);
    this.#refused = new CountedWarning(
      parts,
      "Refused changes through the operator's API: the token is wrong",
    );
  }

  /**
   * The token is compared before attempts are limited, so that nobody can lock the operator out with wrong tokens.
   *
   * @returns who makes the change, for the log: the fingerprint of the token and the address of the caller
   * @throws (rejects with) OperatorProblem changes_disabled, authentication_required, invalid_token or rate_limited
   */
  async check({ authorization, remoteAddress }: Credentials): Promise<string> {
    const expected = await this.#token();
    if (expected === null) throw disabled();
    const given = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
    if (given === undefined) throw required();
    const digest = digestOf(expected);
    if (!timingSafeEqual(digestOf(given), digest)) throw this.#wrongToken(remoteAddress);
    return `token ${digest.toString('hex').slice(0, 8)} from ${remoteAddress}`;
  }

  /** Writes the pending warning. */
  stop(): void {
    this.#refused.flush();
  }

  async #token(): Promise<string | null> {
    try {
      return await this.#parts.token();
    } catch (thrown) {
      const error = asError(thrown).message;
      this.#parts.log.error("Refused a change through the operator's API: its token cannot be read", {
        error,
      });
      throw new OperatorProblem('changes_disabled', 'The file with the token cannot be read; see the log.');
    }
  }

  #wrongToken(remoteAddress: string): OperatorProblem {
    const network = networkOf(remoteAddress);
    const waitMs = this.#wrong.waitMs(network);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / SECOND_MS);
      return new OperatorProblem('rate_limited', `Too many wrong tokens. Retry in ${seconds} s.`, {
        headers: { 'Retry-After': String(seconds) },
      });
    }
    this.#wrong.add(network);
    this.#refused.add({ lastFrom: remoteAddress });
    return new OperatorProblem(
      'invalid_token',
      'The token is not the ADMIN_TOKEN of this service.',
      CHALLENGE,
    );
  }
}

/**
 * Refuses requests that a web page of another site makes in a browser. The API answers no preflight request (CORS), so
 * browsers send no `Authorization` for such pages; this refuses the remaining requests as well. Pages whose host name was
 * rebound to this address (DNS rebinding) are refused before, by their names.
 *
 * @throws OperatorProblem cross_origin
 */
export function refuseOtherSites(request: RequestHead): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  const isOwnSite = site === '' || site === 'same-origin' || site === 'none';
  const isOwnOrigin = origin === '' || hostOf(origin) === request.header('host').toLowerCase();
  if (isOwnSite && isOwnOrigin) return;
  throw new OperatorProblem('cross_origin', 'The request comes from a page of another web site.');
}

function hostOf(origin: string): string | null {
  return /^https?:\/\/([^/?#@\s]+)$/.exec(origin.toLowerCase())?.[1] ?? null;
}

const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer realm="sluice"' } };

function disabled(): OperatorProblem {
  return new OperatorProblem(
    'changes_disabled',
    'No token for changes is configured. Set ADMIN_TOKEN or ADMIN_TOKEN_FILE ("openssl rand -hex 32" creates a token) and restart the service.',
  );
}

function required(): OperatorProblem {
  return new OperatorProblem(
    'authentication_required',
    'A change needs the header "Authorization: Bearer" with the ADMIN_TOKEN of this service.',
    CHALLENGE,
  );
}

/** Equal lengths, which a comparison in constant time needs. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The address, or of IPv6 the first 64 bits, because a caller usually has all addresses below them. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head, tail] = address.toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, 4).join(':');
}
