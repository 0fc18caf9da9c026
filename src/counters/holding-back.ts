import { ADMISSION, REFUSED } from './admission/admission.ts';
import { type CounterBatch, NEVER_FULL } from './batch.ts';
import { SlotChanges } from './slot-changes.ts';

/**
 * Decides which hits of a batch are held back, from the counts that were read into the batch (NaN if unknown). For stores
 * that cannot decide this themselves. Sets `opHeld`, `opRefused` and `opAfters`; afterwards, `counts` include the hits to
 * add.
 *
 * Refunds are never held back. The refunds of a request apply before its hits, so they make room for the hits.
 */
export function holdBack(batch: CounterBatch): void {
  holdBackBut(batch, false);
}

/**
 * As {@link holdBack}, for a batch whose leases the store has decided. Ops with leases that it has admitted, and whose hits
 * must be held back because of other limits, are marked in `opHeld`.
 */
export function holdBackAfterLeases(batch: CounterBatch): void {
  holdBackBut(batch, true);
}

function holdBackBut(batch: CounterBatch, areLeasesDecided: boolean): void {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    refund(batch, first, end, areLeasesDecided);
    const held = batch.groupHeld[group] === 1;
    let anyFull = held;
    for (let op = first; op < end; op++) {
      if (areLeasesDecided && isLeased(batch, op)) {
        anyFull ||= isFullLease(batch, op);
        continue;
      }
      if (batch.opRefunds[op] === 1) continue;
      const full = !held && batch.isFull(op);
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    for (let op = first; op < end; op++) {
      if (areLeasesDecided && isLeased(batch, op)) {
        if (anyFull && !isFullLease(batch, op)) holdBackLease(batch, op);
        continue;
      }
      if (batch.opRefunds[op] === 1) continue;
      if (!anyFull) batch.opHeld[op] = 0;
      if (batch.opHeld[op] === 0) batch.spreadOp(op);
      else batch.opAfters[op] = batch.counts[batch.opSlots[op]];
    }
    first = end;
  }
}

/** Marks an op whose hits must be held back, if it can be refused. */
function holdBackLease({ leases, opRefused, opHeld, opAfters }: CounterBatch, op: number): void {
  if (!leases.isRefusable(op) || Number.isNaN(opAfters[op])) return;
  opHeld[op] = 1;
  opRefused[op] = REFUSED.no;
}

function isLeased({ admissions, opSlots }: CounterBatch, op: number): boolean {
  return admissions.isLeased(opSlots[op]);
}

/** Whether the store has refused an op with a lease, so that it holds back the others of its request. */
function isFullLease({ opRefused, opLimits }: CounterBatch, op: number): boolean {
  return opRefused[op] === REFUSED.full && opLimits[op] !== NEVER_FULL;
}

/**
 * The changes of all ops that are not held back, in the order of {@link holdBack}. The runs of the batch become those of
 * these ops.
 */
export function heldBackChanges(batch: CounterBatch): SlotChanges {
  const { admissions } = batch;
  const changes = new SlotChanges(batch.slotCount);
  if (admissions.count > 0) admissions.clearRuns(batch.slotCount);
  inOrder(batch, op => {
    const slot = batch.opSlots[op];
    const hits = batch.opHits[op];
    const isRefund = batch.opRefunds[op] === 1;
    const isHeld = batch.opHeld[op] === 1;
    if (admissions.kinds[slot] !== ADMISSION.count) {
      if (!isHeld) admissions.addRequest(slot, hits, isRefund, batch.opReserves[op]);
    } else if (isRefund) changes.giveBack(slot, hits);
    else changes.add(slot, isHeld ? 0 : hits);
  });
  return changes;
}

/** Computes `opAfters` again, from the counts that the store found when it applied the changes. */
export function spreadHeldBack(batch: CounterBatch): void {
  inOrder(batch, op => {
    if (batch.opHeld[op] === 0) batch.spreadOp(op);
    else {
      batch.opAfters[op] = batch.counts[batch.opSlots[op]];
      batch.opRefused[op] = 0;
    }
  });
}

function refund(batch: CounterBatch, first: number, end: number, areLeasesDecided: boolean): void {
  if (batch.refundCount === 0) return;
  for (let op = first; op < end; op++) {
    if (batch.opRefunds[op] === 0 || (areLeasesDecided && isLeased(batch, op))) continue;
    batch.opHeld[op] = 0;
    batch.spreadOp(op);
  }
}

/** Visits all ops without leases, for each request the refunds first. */
function inOrder(batch: CounterBatch, visit: (op: number) => void): void {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    for (let op = first; op < end; op++) if (batch.opRefunds[op] === 1 && !isLeased(batch, op)) visit(op);
    for (let op = first; op < end; op++) if (batch.opRefunds[op] === 0 && !isLeased(batch, op)) visit(op);
    first = end;
  }
}
