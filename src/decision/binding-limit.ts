import { LIMIT_FLAG } from '../rules/layout.ts';
import { CODE, type DecisionTable, KIND } from './batch.ts';

/** How far a limit decides the answer, from the least to the most. Limits that are not exceeded all have the same rank. */
const RANK = { within: 0, shadow: 1, quota: 2, enforced: 3 } as const;

/**
 * Fills the row of a descriptor with several limits with the values of the one that binds: an exceeded limit (rather one
 * that is enforced than one in quota mode, and rather that than one in shadow mode; of several, the one that resets last),
 * else the limit with the smallest share of its hits left. If this leaves a choice, it is the first one.
 *
 * The descriptor is over its limit if any limit is. It is a quota descriptor if the exceeded limit is in quota mode, or if
 * none is exceeded and any limit is in quota mode.
 */
export function showBinding(decisions: DecisionTable, row: number): void {
  const first = decisions.firstPart[row];
  const end = first + decisions.partCount[row];
  let binding = -1;
  let anyQuota = 0;
  for (let part = first; part < end; part++) {
    if (decisions.kind[part] !== KIND.limited) continue;
    if (binding < 0 || bindsMore(decisions, part, binding)) binding = part;
    anyQuota |= decisions.flags[part] & LIMIT_FLAG.quota;
  }
  const { flags, code } = decisions;
  const isOver = code[binding] === CODE.overLimit;
  decisions.binding[row] = binding;
  code[row] = code[binding];
  flags[row] = isOver ? flags[binding] : (flags[binding] & ~LIMIT_FLAG.quota) | anyQuota;
  decisions.isOver[row] = decisions.isOver[binding];
  decisions.limit[row] = decisions.limit[binding];
  decisions.unit[row] = decisions.unit[binding];
  decisions.requestsPerUnit[row] = decisions.requestsPerUnit[binding];
  decisions.terms[row] = decisions.terms[binding];
  decisions.remaining[row] = decisions.remaining[binding];
  decisions.resetMs[row] = decisions.resetMs[binding];
}

/** Whether a limit decides the answer rather than another one. Also compares limits of different descriptors. */
export function bindsMore(decisions: DecisionTable, part: number, other: number): boolean {
  const rank = rankOf(decisions, part);
  const otherRank = rankOf(decisions, other);
  if (rank !== otherRank) return rank > otherRank;
  if (rank > RANK.within) return decisions.resetMs[part] > decisions.resetMs[other];
  return shareLeft(decisions, part) < shareLeft(decisions, other);
}

function rankOf({ isOver, flags }: DecisionTable, part: number): number {
  if (isOver[part] === 0) return RANK.within;
  if ((flags[part] & LIMIT_FLAG.shadow) !== 0) return RANK.shadow;
  return (flags[part] & LIMIT_FLAG.quota) !== 0 ? RANK.quota : RANK.enforced;
}

/** The part of its hits that a limit has left, from 0 to 1. */
function shareLeft({ remaining, requestsPerUnit, terms }: DecisionTable, part: number): number {
  const counting = terms[part];
  if (counting === null) return requestsPerUnit[part] === 0 ? 0 : remaining[part] / requestsPerUnit[part];
  return counting.most === 0 ? 0 : (remaining[part] * counting.scale) / counting.most;
}
