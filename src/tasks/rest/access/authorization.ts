import { ROLES, type Role, SCOPES, type Scope } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { Access, Call, Caller } from '../http/route.ts';

/** True when the role allows all that the least one does. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(least);
}

/**
 * Whether somebody may call a route (specification 3.12).
 *
 * @throws Problem insufficient_role or insufficient_scope
 */
export function requireAccess(caller: Caller, access: Access): void {
  if (caller.kind === 'worker') {
    if (access.workers === true) return;
    throw new Problem(
      'insufficient_role',
      'the token of a worker is good for the leases of this worker only',
    );
  }
  if (!isAtLeast(caller.role, access.role)) {
    throw new Problem(
      'insufficient_role',
      `this takes the role ${access.role}, and the user has ${caller.role}`,
    );
  }
  if (caller.scopes !== null && !caller.scopes.includes(access.scope)) {
    throw new Problem('insufficient_scope', `this takes a token with the scope ${access.scope}`, {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${access.scope}"` },
    });
  }
}

/**
 * Whether somebody may see payloads, headers, results and what workers replied: a role above viewer, and the scope
 * `tasks:payload` where a token is narrowed (specification 3.12).
 */
export function seesPayloads(caller: Caller): boolean {
  if (caller.kind !== 'user' || caller.role === 'viewer') return false;
  return caller.scopes === null || caller.scopes.includes('tasks:payload');
}

/** The user that the path names, as it is in the store now. @throws Problem not_found */
export async function readUser(store: TaskStore, call: Call): Promise<StoredDocument<'user'>> {
  const id = call.params['id'];
  const user = isId('user', id) ? await store.getDocument(call.tenant, 'user', id) : null;
  if (user === null) throw noSuchUser();
  return user;
}

export function noSuchUser(): Problem {
  return new Problem('not_found', 'there is no such user: give the id of one, usr_…');
}

/**
 * Whether somebody may see a user and its tokens: oneself; others from admin on.
 *
 * @throws Problem not_found, as for a user that there is not
 */
export function requireSeeing(caller: Caller, user: StoredDocument<'user'>): void {
  if (!isSelf(caller, user) && !isAdmin(caller)) throw noSuchUser();
}

/**
 * Whether somebody may change a user, or its tokens: admins those of all but owners, owners all. Of themselves, users
 * of all roles may change the tokens.
 *
 * @throws Problem insufficient_role, or not_found for those who may not see the user
 */
export function requireChanging(caller: Caller, user: StoredDocument<'user'>, what: 'user' | 'tokens'): void {
  requireSeeing(caller, user);
  if (what === 'tokens' && isSelf(caller, user)) return;
  if (!isAdmin(caller)) throw new Problem('insufficient_role', 'users are changed by admins and owners');
  requireRank(caller, user.body.role);
}

/**
 * A token acts with the role of its user. A caller with a lesser role must not create one: an identity provider may give
 * a user a lesser role than the user has here.
 *
 * @throws Problem insufficient_role
 */
export function requireRoleOf(caller: Caller, { body }: StoredDocument<'user'>): void {
  if (caller.kind === 'user' && isAtLeast(caller.role, body.role)) return;
  throw new Problem(
    'insufficient_role',
    `a token of this user would have the role ${body.role}, which is more than the role of this login`,
  );
}

/** Only owners make somebody an owner, or change one. @throws Problem insufficient_role */
export function requireRank(caller: Caller, role: Role): void {
  if (role !== 'owner' || (caller.kind === 'user' && caller.role === 'owner')) return;
  throw new Problem('insufficient_role', 'owners are made and changed by owners only');
}

function isSelf(caller: Caller, user: StoredDocument<'user'>): boolean {
  return caller.kind === 'user' && caller.userId === user.id;
}

function isAdmin(caller: Caller): boolean {
  return caller.kind === 'user' && isAtLeast(caller.role, 'admin');
}

/** What tokens can be narrowed to: each scope, and `tasks:*` for all scopes of tasks. */
export const SCOPE_NAMES: readonly string[] = [
  ...SCOPES,
  ...new Set(SCOPES.filter(scope => scope.includes(':')).map(scope => `${scope.split(':')[0]}:*`)),
];

/** Scopes by the names of {@link SCOPE_NAMES}, each once. */
export function expandScopes(names: readonly string[]): readonly Scope[] {
  return SCOPES.filter(scope =>
    names.some(name => name === scope || (name.endsWith('*') && scope.startsWith(name.slice(0, -1)))),
  );
}

/**
 * What a token may have that a caller makes: not more than the caller's own token, or one that is narrowed could make
 * one that is not.
 *
 * @param scopes null: all that the role of the user allows
 * @throws Problem insufficient_scope
 */
export function requireWithin(caller: Caller, scopes: readonly Scope[] | null): void {
  if (caller.kind !== 'user' || caller.scopes === null) return;
  const own = caller.scopes;
  if (scopes?.every(scope => own.includes(scope))) return;
  throw new Problem(
    'insufficient_scope',
    `a narrowed token makes tokens only within its own scopes: ${own.join(', ')}`,
  );
}
