import { SCOPES, type Scope } from '../../model/documents.ts';
import { Problem } from '../checks/problem.ts';
import type { Caller } from '../http/route.ts';

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
