import type { TenantLimits } from '../../model/documents.ts';
import { Problem } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

/** What this tenant may have: the defaults, and what its operator has changed. */
export function limitsOf(parts: Pick<RestParts, 'config'>, call: Pick<Call, 'account'>): TenantLimits {
  return { ...parts.config.limits, ...call.account.body.limits };
}

/** How long to wait before asking again, where room comes only as others make it. */
const RETRY_AFTER = { 'Retry-After': '60' } as const;

/**
 * A quota is used up.
 *
 * @param limit its name, as clients know it
 * @param detail what there is too much of, and what makes room
 */
export function quotaExceeded(limit: string, max: number, detail: string): Problem {
  return new Problem('quota_exceeded', detail, { members: { limit, max }, headers: RETRY_AFTER });
}
