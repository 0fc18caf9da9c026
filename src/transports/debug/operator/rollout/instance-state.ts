import { SECOND_MS } from '../../../../base/clock.ts';
import type { ProcessView } from '../status-routes.ts';

/**
 * Whether an instance uses rules with a digest, or what keeps it from that:
 *
 * - `applied`: it uses them
 * - `silent`: it has not been heard of lately, whatever it used then; it may have ended, or may not reach Redis
 * - `refused`: the latest rules that it has read are not active there, for example because they have faults
 * - `unknown`: it has no rules, or is of a version that does not tell
 * - `behind`: it has read other rules, and perhaps not the new ones yet
 */
export const INSTANCE_STATES = ['applied', 'refused', 'silent', 'unknown', 'behind'] as const;
type InstanceState = (typeof INSTANCE_STATES)[number];

/** An instance is silent if it was not heard of for this time: it has missed two records. */
const SILENT_MS = 7 * SECOND_MS;

/** @param digest the beginning of the digest, in lowercase */
export function instanceState(instance: ProcessView, digest: string, nowMs: number): InstanceState {
  const { rules_digest: own, rules_error: error, seen } = instance;
  if (nowMs - Date.parse(seen) > SILENT_MS) return 'silent';
  if (own?.startsWith(digest)) return 'applied';
  if (error !== null) return 'refused';
  return own === null ? 'unknown' : 'behind';
}
