import type { Role } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { Call, Caller } from '../http/route.ts';
import { isAtLeast } from './authorization.ts';

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
