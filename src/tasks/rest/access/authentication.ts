import type { Directory } from '../../store/directory.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { Problem } from '../checks/problem.ts';
import type { Caller } from '../http/route.ts';
import { isTokenText, tokenHash } from './token-text.ts';

/** A token, and the hash by which it was found. */
export interface UsedToken {
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
export function tokenRequired(): Problem {
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
