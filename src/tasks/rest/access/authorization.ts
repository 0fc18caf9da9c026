import { ROLES, type Role } from '../../model/documents.ts';
import { Problem } from '../checks/problem.ts';
import type { Access, Caller } from '../http/route.ts';

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
