import { createHash, timingSafeEqual } from 'node:crypto';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Directory } from '../../store/directory.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import { putAgain, tokenName } from '../../store/put-document.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { RestRequest } from '../http/http.ts';
import type { RestConfig } from '../http/parts.ts';
import type { Caller } from '../http/route.ts';
import { isTokenText, tokenHash } from './api-token.ts';

/** A token and its hash. */
interface UsedToken {
  readonly hash: string;
  readonly document: StoredDocument<'token'> | StoredDocument<'secret'>;
}

/** A caller, and the documents that identify it. */
export interface Authenticated {
  readonly caller: Caller;
  /** Null for a login at the identity provider. */
  readonly token: UsedToken | null;
  /** Null for a pull worker. */
  readonly user: StoredDocument<'user'> | null;
}

/**
 * Finds the caller that a token belongs to (specification 3.12). The error is the same for a token that is unknown,
 * mistyped, of another tenant, or of a deleted or disabled user.
 *
 * @param authorization the `Authorization` field; undefined if absent
 * @throws Problem authentication_required, invalid_token or token_expired
 */
export async function authenticate(
  directory: Directory,
  tenant: string,
  authorization: string | undefined,
  nowMs: number,
): Promise<Authenticated> {
  const text = bearerToken(authorization);
  if (text === null) throw tokenRequired();
  if (!isTokenText(text)) throw invalidToken();
  const hash = tokenHash(text);
  const token = await directory.token(tenant, hash);
  if (token === null) throw invalidToken();
  const user = isUserToken(token) ? await directory.get(tenant, 'user', token.body.userId) : null;
  if (isUserToken(token) && (user === null || user.body.status === 'disabled')) throw invalidToken();
  const { expiresAt } = token.body;
  if (expiresAt !== null && expiresAt <= nowMs) throw tokenExpired();
  return { caller: callerOf(token, user), token: { hash, document: token }, user };
}

function isUserToken(token: UsedToken['document']): token is StoredDocument<'token'> {
  return token.kind === 'token';
}

function callerOf(token: UsedToken['document'], user: StoredDocument<'user'> | null): Caller {
  if (!isUserToken(token) || user === null) return workerOf(token as StoredDocument<'secret'>);
  return {
    kind: 'user',
    userId: user.id,
    tokenId: token.id,
    role: user.body.role,
    scopes: token.body.scopes,
    actor: { type: 'user', id: user.id },
  };
}

/** The token of an `Authorization` field; null if it is absent, or the scheme is not `Bearer`. */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length < 8) return null;
  if (!authorization.startsWith('Bearer ') && authorization.slice(0, 7).toLowerCase() !== 'bearer ')
    return null;
  return authorization.slice(7).trim();
}

function workerOf({ id, body }: StoredDocument<'secret'>): Caller {
  return {
    kind: 'worker',
    workerId: body.workerId,
    secretId: id,
    actor: { type: 'worker', id: body.workerId },
  };
}

/** The response to a request without a token. */
function tokenRequired(): Problem {
  return new Problem(
    'authentication_required',
    'A token is required. Send the header `Authorization: Bearer tk_…`.',
    {
      headers: { 'WWW-Authenticate': 'Bearer' },
    },
  );
}

/** The response to a rejected token. For tokens of this service, it does not reveal the reason. */
export function invalidToken(detail = 'The token is not valid for this account.'): Problem {
  return new Problem('invalid_token', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}

export function tokenExpired(detail = 'The token has expired. Create a new one.'): Problem {
  return new Problem('token_expired', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="expired"' },
  });
}

/**
 * Checks that the caller may create accounts: the operator always, and callers on this machine or all callers if the
 * operator has enabled it. Requests that a proxy has forwarded have no address here. A proxy that adds no header field
 * cannot be distinguished from a caller on this machine, so `loopback` is only for trying out the service.
 *
 * @throws Problem authentication_required or invalid_token
 */
export function requireSignup(
  request: RestRequest,
  config: Pick<RestConfig, 'signup' | 'operatorToken'>,
): void {
  if (config.signup === 'open') return;
  if (config.signup === 'loopback' && isLoopback(request.remoteAddress)) return;
  requireOperator(request, config);
}

/**
 * Checks that the caller is the operator.
 *
 * @throws Problem authentication_required or invalid_token
 */
export function requireOperator(request: RestRequest, config: Pick<RestConfig, 'operatorToken'>): void {
  if (bearerToken(request.headers['authorization']) === null) throw tokenRequired();
  if (!isOperator(request, config)) throw invalidToken();
}

/** Whether the request has the token of the operator. */
export function isOperator(
  request: Pick<RestRequest, 'headers'>,
  { operatorToken }: Pick<RestConfig, 'operatorToken'>,
): boolean {
  const token = bearerToken(request.headers['authorization']);
  return token !== null && operatorToken !== '' && isEqual(token, operatorToken);
}

/** Compares in constant time, so that the duration does not reveal where the texts differ. */
function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `::1`, `127.0.0.0/8` and its IPv4-mapped form, as sockets report them. */
export function isLoopback(address: string): boolean {
  if (address === '::1' || address === '0000:0000:0000:0000:0000:0000:0000:0001') return true;
  const v4 = address.replace(/^(?:::|0000:0000:0000:0000:0000:)ffff:/i, '');
  return /^127(?:\.\d{1,3}){3}$/.test(v4) || /^7f[0-9a-f]{2}:[0-9a-f]{1,4}$/i.test(v4);
}

/** Accuracy of the time of last use. Writing it for each request would be too expensive. */
const EXACT_TO_MS = 600_000;
const MAX_TOKENS = 20_000;

/** Records when tokens were last used and users last seen. Requests do not wait for these writes. */
export class LastUse {
  readonly #store: TaskStore;
  readonly #log: Logger;
  readonly #notedAt = recentlyUsed<string, number>(MAX_TOKENS);

  constructor(store: TaskStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  used(tenant: string, used: Authenticated, nowMs: number): void {
    // A login at the identity provider has no token, only a user.
    const { id, lastUsedAt } = used.token === null ? seenUser(used) : usedToken(used.token);
    const before = this.#notedAt.get(id) ?? lastUsedAt ?? 0;
    if (nowMs - before < EXACT_TO_MS) return;
    this.#notedAt.set(id, nowMs);
    // If a document has changed in the meantime, the write fails and the next use is recorded.
    this.#store.apply(tenant, changesOf(used, nowMs)).catch(thrown => {
      this.#log.debug('Could not record the last use of a token', { id, error: asError(thrown).message });
    });
  }
}

interface Noted {
  readonly id: string;
  readonly lastUsedAt: number | null;
}

function usedToken({ document: { id, body } }: UsedToken): Noted {
  return { id, lastUsedAt: body.lastUsedAt };
}

function seenUser({ caller, user }: Authenticated): Noted {
  return { id: caller.actor.id, lastUsedAt: user?.body.lastSeenAt ?? null };
}

function changesOf({ token, user }: Authenticated, nowMs: number): PutDocument[] {
  const changes: PutDocument[] = [];
  if (token !== null) {
    const { document, hash } = token;
    const body = { ...document.body, lastUsedAt: nowMs };
    changes.push(putAgain(document as StoredDocument, body, { unique: [tokenName(hash)] }));
  }
  if (user !== null) changes.push(putAgain(user, { ...user.body, lastSeenAt: nowMs }));
  return changes;
}
