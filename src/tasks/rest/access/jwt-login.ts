import { IdentityFault } from '../../identity/json-web-token.ts';
import type { Identity, VerifiedTokens } from '../../identity/verified-tokens.ts';
import { ROLES, type Role, type User } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { putNew } from '../../store/put-document.ts';
import { type Problem, retryLater } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, Caller } from '../http/route.ts';
import { auditEntry } from './audit.ts';
import { type Authenticated, invalidToken, tokenExpired } from './authentication.ts';
import { limitsOf, quotaExceeded } from './tenant-limits.ts';

/** A call whose token is a JSON Web Token. */
interface LoginCall extends Pick<Call, 'tenant' | 'account' | 'nowMs'> {
  readonly token: string;
  /** The id of the request that may create the user; null if no user may be created. */
  readonly requestId: string | null;
}

/**
 * Logs users in with tokens of the identity provider (specification 3.12). The token identifies the user. Access to the
 * tenant is looked up for each call, so disabling a user here takes effect immediately.
 */
export class JwtLogin {
  readonly #parts: RestParts;
  readonly #identities: VerifiedTokens;

  constructor(parts: RestParts, identities: VerifiedTokens) {
    this.#parts = parts;
    this.#identities = identities;
  }

  /**
   * @throws (rejects with) Problem invalid_token, token_expired, rate_limited, identity_unavailable or quota_exceeded
   */
  async authenticate(call: LoginCall): Promise<Authenticated> {
    const identity = await this.#verified(call);
    const { tenantClaim } = this.#parts.config.jwt;
    if (tenantClaim !== '' && identity.tenant !== call.tenant) {
      throw invalidToken(`The claim ${tenantClaim} of the token does not name this account.`);
    }
    const user = await this.#userOf(call, identity);
    if (user === null || user.body.status === 'disabled') {
      throw invalidToken('No active user of this account has the subject (sub) of the token as external_id.');
    }
    return { caller: callerOf(user.id, roleOf(identity, user)), token: null, user };
  }

  async #verified({ token, tenant, nowMs }: LoginCall): Promise<Identity> {
    try {
      return await this.#identities.verify(token, tenant, nowMs);
    } catch (failure) {
      throw failure instanceof IdentityFault ? problemOf(failure) : failure;
    }
  }

  async #userOf(call: LoginCall, identity: Identity): Promise<StoredDocument<'user'> | null> {
    const { directory, config } = this.#parts;
    const known = await directory.userByExternalId(call.tenant, identity.subject);
    if (known !== null || call.requestId === null || !config.jwt.autoProvision) return known;
    await this.#provision(call, call.requestId, identity);
    return directory.userByExternalId(call.tenant, identity.subject);
  }

  async #provision(call: LoginCall, requestId: string, identity: Identity): Promise<void> {
    const { store, directory, ids, config } = this.#parts;
    const id = ids.next('user');
    const body = newUser(id, call, identity, config.jwt.defaultRole);
    const { users } = limitsOf(this.#parts, call);
    const { role, status } = body;
    const audited = { action: 'user.created', targetId: id, details: { role, status } } as const;
    const caller = callerOf(id, role);
    const applied = await store.apply(call.tenant, [
      putNew('user', id, body, { atMost: users }),
      auditEntry(this.#parts, { caller, requestId, nowMs: call.nowMs }, audited),
    ]);
    directory.changed(call.tenant);
    if (applied.kind === 'refused' && applied.reason === 'too_many') {
      throw quotaExceeded('users', users, `The account already has ${users} users, which is its limit.`);
    }
    // Any other refusal means that another call has just created the user.
  }
}

/** The highest role that the token names, or the role of the user if the token names none. */
function roleOf({ roles }: Identity, { body }: StoredDocument<'user'>): Role {
  if (roles === null) return body.role;
  const role = ROLES.find(one => roles.includes(one));
  if (role === undefined)
    throw invalidToken(`The role claim of the token must contain one of: ${ROLES.join(', ')}.`);
  return role;
}

function callerOf(id: string, role: Role): Caller {
  return { kind: 'user', userId: id, tokenId: null, role, scopes: null, actor: { type: 'user', id } };
}

/**
 * The email in the token is not used, because the service has not verified it and users are found by their emails. The
 * user gets an address that receives no mail.
 */
function newUser(id: string, { tenant, nowMs }: LoginCall, { subject, name }: Identity, role: Role): User {
  return {
    email: `${id.toLowerCase()}@${tenant}.invalid`,
    name,
    role,
    status: 'active',
    externalId: subject,
    lastSeenAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function problemOf({ code, message }: IdentityFault): Problem {
  if (code === 'expired') return tokenExpired(message);
  if (code === 'invalid') return invalidToken(message);
  if (code === 'too_many') return retryLater('rate_limited', `${message}. Retry in 1 s.`);
  return retryLater('identity_unavailable', `${message}. Retry the request in a few seconds.`, 5);
}
