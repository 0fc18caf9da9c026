import { type CounterBatch, SlotChanges } from './batch.ts';

/**
 * Holds the requests of a batch back against the counts that were read into it (NaN where one is not known), for stores
 * that cannot decide it themselves: request by request, in order. Fills in `opHeld` and `opAfters`; `counts` then hold
 * what is there with what is to be added.
 *
 * Refunds are never held back, and those of a request come before its hits: what it gives back is there for them.
 */
export function holdBack(batch: CounterBatch): void {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    refund(batch, first, end);
    const held = batch.groupHeld[group] === 1;
    let anyFull = held;
    for (let op = first; op < end; op++) {
      if (batch.opRefunds[op] === 1) continue;
      const full = !held && batch.counts[batch.opSlots[op]] + batch.opHits[op] > batch.opLimits[op];
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    for (let op = first; op < end; op++) {
      if (batch.opRefunds[op] === 1) continue;
      if (!anyFull) batch.opHeld[op] = 0;
      if (batch.opHeld[op] === 0) batch.spreadOp(op);
      else batch.opAfters[op] = batch.counts[batch.opSlots[op]];
    }
    first = end;
  }
}

/** What the ops that are not held back do to each slot, in the order in which {@link holdBack} lets them. */
export function heldBackChanges(batch: CounterBatch): SlotChanges {
  const changes = new SlotChanges(batch.slotCount);
  inOrder(batch, op => {
    const slot = batch.opSlots[op];
    if (batch.opRefunds[op] === 1) changes.giveBack(slot, batch.opHits[op]);
    else changes.add(slot, batch.opHeld[op] === 1 ? 0 : batch.opHits[op]);
  });
  return changes;
}

/** Works out `opAfters` once more, from the counts that the store found when it made the changes. */
export function spreadHeldBack(batch: CounterBatch): void {
  inOrder(batch, op => {
    if (batch.opHeld[op] === 0) batch.spreadOp(op);
    else batch.opAfters[op] = batch.counts[batch.opSlots[op]];
  });
}

function refund(batch: CounterBatch, first: number, end: number): void {
  if (batch.refundCount === 0) return;
  for (let op = first; op < end; op++) {
    if (batch.opRefunds[op] === 0) continue;
    batch.opHeld[op] = 0;
    batch.spreadOp(op);
  }
}

/** Visits all ops: of each request the refunds first. */
function inOrder(batch: CounterBatch, visit: (op: number) => void): void {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    for (let op = first; op < end; op++) if (batch.opRefunds[op] === 1) visit(op);
    for (let op = first; op < end; op++) if (batch.opRefunds[op] === 0) visit(op);
    first = end;
  }
}
