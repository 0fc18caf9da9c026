import type { Caller } from '../http/route.ts';

/**
 * Whether somebody may see payloads, headers, results and what workers replied: a role above viewer, and the scope
 * `tasks:payload` where a token is narrowed (specification 3.12).
 */
export function seesPayloads(caller: Caller): boolean {
  if (caller.kind !== 'user' || caller.role === 'viewer') return false;
  return caller.scopes === null || caller.scopes.includes('tasks:payload');
}
