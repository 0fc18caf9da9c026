import type { CounterBatch } from '../../counters/batch.ts';
import { LEASE_MODE, STEP } from '../../counters/leases/lease.ts';
import { LEASE_ROWS } from '../../rules/compile-extra-rows.ts';
import { RULE_STAT } from '../../stats/names.ts';
import { ROW_SLOTS } from './rule-statistics.ts';
import { addTotal } from './shared-totals.ts';

/**
 * Counts what an op has done to the leases of a limit, and which leases the store has found to have ended by themselves.
 * @param totals the statistics of the rules
 * @param base the first slot of the first row for leases
 */
export function countLeases(
  { leases, opSlots, opHeld, opRefused }: CounterBatch,
  op: number,
  totals: Int32Array,
  base: number,
): void {
  const slot = opSlots[op];
  if (leases.slotExpired[slot] > 0) {
    addTotal(totals, slotOf(base, LEASE_ROWS.expired), leases.slotExpired[slot]);
    // Other ops have the same slot.
    leases.slotExpired[slot] = 0;
  }
  if (opHeld[op] === 1 || opRefused[op] !== 0) return;
  const step = leases.steps[op];
  const held = leases.held[op];
  const spent = leases.spent[op];
  if (step === STEP.take) addTotal(totals, slotOf(base, LEASE_ROWS.held), held);
  else if (step === STEP.free) addTotal(totals, slotOf(base, LEASE_ROWS.settled), leases.hits[op]);
  else if (step === STEP.settle) {
    // A slot is not spent, but free again.
    const isSlot = leases.of(slot).mode === LEASE_MODE.concurrency;
    addTotal(totals, slotOf(base, LEASE_ROWS.settled), isSlot ? held : spent);
    if (spent > held) addTotal(totals, slotOf(base, LEASE_ROWS.overdrawn), spent - held);
  }
}

/** The total of the hits of a row for leases. */
function slotOf(base: number, row: number): number {
  return base + row * ROW_SLOTS + RULE_STAT.totalHits;
}
