import { ROLES, type Role, SCOPES, type Scope } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { Access, Call, Caller } from '../http/route.ts';

/** Whether a role allows everything that the role `least` allows. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(least);
}

/**
 * Checks that the caller may use a route (specification 3.12).
 *
 * @throws Problem insufficient_role or insufficient_scope
 */
export function requireAccess(caller: Caller, access: Access): void {
  if (caller.kind === 'worker') {
    if (access.workers === true) return;
    throw new Problem(
      'insufficient_role',
      'The token of a worker allows only requests for the leases of that worker.',
    );
  }
  if (!isAtLeast(caller.role, access.role)) {
    throw new Problem(
      'insufficient_role',
      `This request requires the role ${access.role}. The role of the caller is ${caller.role}.`,
    );
  }
  if (access.scope !== null && caller.scopes !== null && !caller.scopes.includes(access.scope)) {
    throw new Problem('insufficient_scope', `This request requires a token with the scope ${access.scope}.`, {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${access.scope}"` },
    });
  }
}

/**
 * Whether the caller may see payloads, headers, results and responses of workers. This requires a role above viewer
 * and, if the token has scopes, the scope `tasks:payload` (specification 3.12).
 */
export function seesPayloads(caller: Caller): boolean {
  if (caller.kind !== 'user' || caller.role === 'viewer') return false;
  return caller.scopes === null || caller.scopes.includes('tasks:payload');
}

/**
 * Reads the current version of the user that the path names.
 *
 * @throws Problem `not_found`
 */
export async function readUser(store: TaskStore, call: Call): Promise<StoredDocument<'user'>> {
  const id = call.params['id'];
  const user = isId('user', id) ? await store.getDocument(call.tenant, 'user', id) : null;
  if (user === null) throw noSuchUser();
  return user;
}

export function noSuchUser(): Problem {
  return new Problem('not_found', 'There is no such user. User ids begin with usr_.');
}

/**
 * Checks that the caller may see a user and their tokens. Admins and owners may see all users, others only themselves.
 *
 * @throws Problem `not_found`, as for a user that does not exist
 */
export function requireSeeing(caller: Caller, user: StoredDocument<'user'>): void {
  if (!isSelf(caller, user) && !isAdmin(caller)) throw noSuchUser();
}

/**
 * Checks that the caller may change a user or their tokens. Owners may change all users, and admins all except owners.
 * All users may change their own tokens.
 *
 * @throws Problem `insufficient_role`, or `not_found` if the caller may not see the user
 */
export function requireChanging(caller: Caller, user: StoredDocument<'user'>, what: 'user' | 'tokens'): void {
  requireSeeing(caller, user);
  if (what === 'tokens' && isSelf(caller, user)) return;
  if (!isAdmin(caller)) throw new Problem('insufficient_role', 'Only admins and owners can change users.');
  requireRank(caller, user.body.role);
}

/**
 * A token has the role of its user, so a caller with a lower role must not create one. An identity provider may give a
 * user a lower role than the user has here.
 *
 * @throws Problem insufficient_role
 */
export function requireRoleOf(caller: Caller, { body }: StoredDocument<'user'>): void {
  if (caller.kind === 'user' && isAtLeast(caller.role, body.role)) return;
  throw new Problem(
    'insufficient_role',
    `A token of this user would have the role ${body.role}, which is higher than the role of the caller.`,
  );
}

/**
 * Checks that the caller may assign or change a role: only owners may do so for the role owner.
 *
 * @throws Problem `insufficient_role`
 */
export function requireRank(caller: Caller, role: Role): void {
  if (role !== 'owner' || (caller.kind === 'user' && caller.role === 'owner')) return;
  throw new Problem('insufficient_role', 'Only owners can make a user an owner, or change an owner.');
}

function isSelf(caller: Caller, user: StoredDocument<'user'>): boolean {
  return caller.kind === 'user' && caller.userId === user.id;
}

function isAdmin(caller: Caller): boolean {
  return caller.kind === 'user' && isAtLeast(caller.role, 'admin');
}

/** The scopes that a token can have: each scope, and names such as `tasks:*` for all scopes of tasks. */
export const SCOPE_NAMES: readonly string[] = [
  ...SCOPES,
  ...new Set(SCOPES.filter(scope => scope.includes(':')).map(scope => `${scope.split(':')[0]}:*`)),
];

/** The scopes that names of {@link SCOPE_NAMES} stand for, each once. */
export function expandScopes(names: readonly string[]): readonly Scope[] {
  return SCOPES.filter(scope =>
    names.some(name => name === scope || (name.endsWith('*') && scope.startsWith(name.slice(0, -1)))),
  );
}

/**
 * Checks that a new token has no scopes beyond those of the caller's token. Otherwise a token with scopes could create
 * one without.
 *
 * @param scopes null for everything that the role of the user allows
 * @throws Problem insufficient_scope
 */
export function requireWithin(caller: Caller, scopes: readonly Scope[] | null): void {
  if (caller.kind !== 'user' || caller.scopes === null) return;
  const own = caller.scopes;
  if (scopes?.every(scope => own.includes(scope))) return;
  throw new Problem(
    'insufficient_scope',
    `A token with scopes can create only tokens within these scopes: ${own.join(', ')}.`,
  );
}
