import { LEASE_MODE, STEP } from '../counters/leases/lease.ts';
import { LEASE_ROWS } from '../rules/compile-extra-rows.ts';
import { RULE_STAT } from '../stats/names.ts';
import type { DecisionBatch } from './batch.ts';
import { ROW_SLOTS } from './statistics/rule-statistics.ts';
import { addTotal } from './statistics/shared-totals.ts';

/** Counts what a request has done to the leases of a limit, and which leases the store has found to have ended by themselves. */
export function countLeases(batch: DecisionBatch, row: number): void {
  const { decisions, counters } = batch;
  const { leases, opSlots, opHeld, opRefused } = counters;
  if (decisions.terms[row]?.hasExtras !== true) return;
  const op = decisions.op[row];
  const slot = opSlots[op];
  if (leases.slotExpired[slot] > 0) {
    count(batch, row, LEASE_ROWS.expired, leases.slotExpired[slot]);
    // Other rows have the same slot.
    leases.slotExpired[slot] = 0;
  }
  if (opHeld[op] === 1 || opRefused[op] !== 0) return;
  const step = leases.steps[op];
  if (step === STEP.take) count(batch, row, LEASE_ROWS.held, leases.held[op]);
  if (step === STEP.free) count(batch, row, LEASE_ROWS.settled, leases.hits[op]);
  if (step !== STEP.settle) return;
  // A slot is not spent, but free again.
  const isSlot = leases.of(slot).mode === LEASE_MODE.concurrency;
  count(batch, row, LEASE_ROWS.settled, isSlot ? leases.held[op] : leases.spent[op]);
  if (leases.spent[op] > leases.held[op])
    count(batch, row, LEASE_ROWS.overdrawn, leases.spent[op] - leases.held[op]);
}

function count({ decisions, ruleTotals }: DecisionBatch, row: number, statistic: number, hits: number): void {
  addTotal(ruleTotals, decisions.extraBase[row] + statistic * ROW_SLOTS + RULE_STAT.totalHits, hits);
}
