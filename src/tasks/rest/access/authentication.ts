import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Directory } from '../../store/directory.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { RestRequest } from '../http/http.ts';
import type { RestConfig } from '../http/parts.ts';
import type { Caller } from '../http/route.ts';
import { isTokenText, tokenHash } from './api-token.ts';
import { userNames } from './user-fields.ts';

/** A token, and the hash by which it was found. */
interface UsedToken {
  readonly hash: string;
  readonly document: StoredDocument<'token'> | StoredDocument<'secret'>;
}

/** A caller, and the documents that say who it is. */
export interface Authenticated {
  readonly caller: Caller;
  /** Null for a login with the identity provider. */
  readonly token: UsedToken | null;
  /** Null for a pull worker. */
  readonly user: StoredDocument<'user'> | null;
}

/**
 * Whom the token of a request belongs to (specification 3.12). A token that is unknown, of another tenant, mistyped,
 * or of a user who is gone or disabled gets one and the same answer.
 *
 * @param authorization the field, if there is one
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

/** The token of a `Bearer` field; null for none, or another scheme. */
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

/** The answer to a request without a token. */
function tokenRequired(): Problem {
  return new Problem('authentication_required', 'a token is required: Authorization: Bearer tk_…', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/** The answer to a token that is not accepted. For tokens of this service the reason is not told. */
export function invalidToken(detail = 'the token is not valid here'): Problem {
  return new Problem('invalid_token', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}

export function tokenExpired(detail = 'the token has expired: make a new one'): Problem {
  return new Problem('token_expired', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="expired"' },
  });
}

/**
 * Whether somebody may make an account: the operator always; callers on this machine, or all, where the operator says
 * so. A request that a proxy has forwarded has no address here. A proxy that adds no field to its requests cannot be
 * told from a caller on this machine: `loopback` is for trying things out.
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
 * Only the operator may do this, however accounts can be created.
 *
 * @throws Problem authentication_required or invalid_token
 */
export function requireOperator(request: RestRequest, config: Pick<RestConfig, 'operatorToken'>): void {
  const token = bearerToken(request.headers['authorization']);
  if (token === null) throw tokenRequired();
  if (config.operatorToken === '' || !isEqual(token, config.operatorToken)) throw invalidToken();
}

/** In a time that does not tell where they differ. */
function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `::1`, `127.0.0.0/8` and its form in IPv6, in the texts that sockets have. */
export function isLoopback(address: string): boolean {
  if (address === '::1' || address === '0000:0000:0000:0000:0000:0000:0000:0001') return true;
  const v4 = address.replace(/^(?:::|0000:0000:0000:0000:0000:)ffff:/i, '');
  return /^127(?:\.\d{1,3}){3}$/.test(v4) || /^7f[0-9a-f]{2}:[0-9a-f]{1,4}$/i.test(v4);
}

/** When a token was used is kept this exactly: a write for each request would be too many. */
const EXACT_TO_MS = 600_000;
const MAX_TOKENS = 20_000;

/** Notes when tokens were last used, and their users last seen, beside the requests, which do not wait for it. */
export class LastUse {
  readonly #store: TaskStore;
  readonly #log: Logger;
  readonly #notedAt = new LRUCache<string, number>({ max: MAX_TOKENS });

  constructor(store: TaskStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  used(tenant: string, used: Authenticated, nowMs: number): void {
    // After a login with the identity provider there is no token, only the user.
    const { id, lastUsedAt } = used.token === null ? seenUser(used) : usedToken(used.token);
    const before = this.#notedAt.get(id) ?? lastUsedAt ?? 0;
    if (nowMs - before < EXACT_TO_MS) return;
    this.#notedAt.set(id, nowMs);
    // Where a document has changed meanwhile nothing is written, and it is noted the next time.
    this.#store.apply(tenant, changesOf(used, nowMs)).catch(thrown => {
      this.#log.debug(`tasks: the last use of ${id} was not noted: ${asError(thrown).message}`);
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
    const body = { ...token.document.body, lastUsedAt: nowMs };
    changes.push(putAgain({ ...token.document, body } as StoredDocument, [`hash:${token.hash}`]));
  }
  if (user !== null) {
    changes.push(putAgain({ ...user, body: { ...user.body, lastSeenAt: nowMs } }, userNames(user.body)));
  }
  return changes;
}

function putAgain(document: StoredDocument, unique: readonly string[]): PutDocument {
  const { kind, id, version, parent, dueAt, body } = document;
  return { op: 'put', kind, id, expect: version, parent, dueAt, unique, body };
}
