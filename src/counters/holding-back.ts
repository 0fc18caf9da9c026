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
    const fullLeases = areLeasesDecided ? fullLeasesOf(batch, first, end) : NO_OPS;
    let anyFull = held || fullLeases.length > 0;
    for (let op = first; op < end; op++) {
      if (areLeasesDecided && isLeased(batch, op)) continue;
      if (batch.opRefunds[op] === 1) continue;
      const full = !held && batch.isFull(op);
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    for (let op = first; op < end; op++) {
      if (areLeasesDecided && isLeased(batch, op)) {
        if (anyFull && !fullLeases.includes(op)) holdBackLease(batch, op);
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

const NO_OPS: readonly number[] = [];

/** Marks an op whose hits must be held back, if it can be refused. */
function holdBackLease({ leases, opRefused, opHeld, opAfters }: CounterBatch, op: number): void {
  if (!leases.isRefusable(op) || Number.isNaN(opAfters[op])) return;
  opHeld[op] = 1;
  opRefused[op] = REFUSED.no;
}

function isLeased({ admissions, opSlots }: CounterBatch, op: number): boolean {
  return admissions.isLeased(opSlots[op]);
}

/** The ops of a request with leases that hold back the others. */
function fullLeasesOf(batch: CounterBatch, first: number, end: number): number[] {
  const full: number[] = [];
  for (let op = first; op < end; op++) {
    if (isLeased(batch, op) && isFullOfLeases(batch, op, first)) full.push(op);
  }
  return full;
}

/**
 * Whether an op with a lease holds back the others of its request. It does not if only the room is missing that another op of
 * the request has taken under the same key.
 */
function isFullOfLeases(batch: CounterBatch, op: number, first: number): boolean {
  if (batch.opRefused[op] !== REFUSED.full || batch.opLimits[op] === NEVER_FULL) return false;
  for (let other = first; other < op; other++) {
    if (batch.opSlots[other] === batch.opSlots[op] && isAdmittedLease(batch, other)) return false;
  }
  return true;
}

/** Whether an op with a lease could have been refused and was not. */
function isAdmittedLease({ leases, opRefused, opHeld, opAfters }: CounterBatch, op: number): boolean {
  if (!leases.isRefusable(op) || opHeld[op] === 1) return false;
  return opRefused[op] === REFUSED.no && !Number.isNaN(opAfters[op]);
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
