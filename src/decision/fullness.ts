import { SECOND_MS } from '../base/clock.ts';
import { type DecisionBatch, type DecisionTable, KIND, mostHits, OVERRIDDEN } from './batch.ts';
import { isFullest, recordFullest } from './statistics/fullest-keys.ts';
import type { RuleGeneration } from './statistics/rule-statistics.ts';

/** How long a share counts if the window of its key has ended, or has no end. */
const LASTING_S = 60;

/**
 * Records how full the fullest key of each limit is, after a batch was decided. A share is replaced by a larger one, and
 * by any other one when it no longer counts.
 */
export function recordFullness(batch: DecisionBatch, generation: RuleGeneration): void {
  const { requests, decisions, faults } = batch;
  for (let request = 0; request < requests.requestCount; request++) {
    if (faults[request] !== null) continue;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    for (let row = first; row < end; row++) {
      const kind = decisions.kind[row];
      if (kind === KIND.limited) recordRow(batch, row, generation);
      else if (kind === KIND.several) recordParts(batch, row, generation);
    }
  }
}

function recordParts(batch: DecisionBatch, row: number, generation: RuleGeneration): void {
  const { kind, firstPart, partCount } = batch.decisions;
  const end = firstPart[row] + partCount[row];
  for (let part = firstPart[row]; part < end; part++) {
    if (kind[part] === KIND.limited) recordRow(batch, part, generation);
  }
}

function recordRow(
  { decisions, counters, nowS }: DecisionBatch,
  row: number,
  generation: RuleGeneration,
): void {
  const limit = decisions.limit[row];
  if (limit < 0) return;
  const op = decisions.op[row];
  // Without an op, the local cache knows that the limit is exceeded.
  const share = op < 0 ? 1 : shareOf(decisions, row, counters.opAfters[op]);
  if (!isFullest(generation, limit, share, nowS)) return;
  const isOverridden = (decisions.flags[row] & OVERRIDDEN) !== 0;
  recordFullest(generation, limit, { share, isOverridden }, untilS(decisions, row, nowS));
}

/** The part of its limit that a key has used; NaN if the store could not count it. */
function shareOf(decisions: DecisionTable, row: number, after: number): number {
  const { terms, isOver } = decisions;
  const counting = terms[row];
  if (counting === null || counting.admission === null) {
    const most = mostHits(decisions, row);
    return most > 0 ? after / most : 1;
  }
  const share = counting.total > 0 ? counting.usedAt(after) / counting.total : 1;
  // The store does not count hits that do not fit. Those of a class may not fit into a limit that is not used up.
  return isOver[row] === 1 && counting.most === counting.total ? Math.max(share, 1) : share;
}

/** The end of a fixed window, because counts stay until then. Levels of sliding windows and buckets fall. */
function untilS({ terms, resetMs }: DecisionTable, row: number, nowS: number): number {
  const counting = terms[row];
  const isFixed = counting === null || counting.admission === null || counting.isFixed;
  const lastingS = isFixed ? Math.ceil(resetMs[row] / SECOND_MS) : 0;
  return nowS + Math.max(lastingS, LASTING_S);
}
