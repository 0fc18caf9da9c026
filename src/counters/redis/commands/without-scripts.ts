import type { CounterBatch } from '../../batch.ts';
import { heldBackChanges, holdBack, spreadHeldBack } from '../../holding-back.ts';
import { SlotChanges } from '../../slot-changes.ts';
import { joined, NOTHING, type RedisCounters, type Slots, type Tally } from './counters.ts';

/** Sends one command for each slot and sets `counts` to the counts before it. */
export type StepRunner = (
  step: 'read' | 'add' | 'take',
  slots: Slots,
  changes: SlotChanges,
) => Promise<Tally>;

/**
 * Refunds if scripts are not allowed: reads the counts, subtracts at most what was read, and adds the hits of the batch.
 * If another process refunds the same key in between, or it expires, the count becomes negative for a moment. It is
 * corrected at once.
 */
export async function refundBySteps(
  run: StepRunner,
  batch: CounterBatch,
  slots: Slots,
  changes: SlotChanges,
): Promise<Tally> {
  const read = await run('read', slots, changes);
  const readable = slots.filter(slot => !Number.isNaN(batch.counts[slot]));
  const before = batch.counts.slice(0, batch.slotCount);
  const takes = new SlotChanges(batch.slotCount);
  for (const slot of readable)
    takes.refunds[slot] = Math.min(changes.refunds[slot], Math.max(before[slot], 0));
  const taken = readable.filter(slot => takes.refunds[slot] > 0);
  const took = await runUnlessNone(run, 'take', taken, takes);
  const adds = new SlotChanges(batch.slotCount);
  for (const slot of readable) adds.amounts[slot] = changes.amounts[slot];
  for (const slot of taken) {
    before[slot] = batch.counts[slot];
    const left = before[slot] - takes.refunds[slot];
    if (left < 0) adds.amounts[slot] -= left;
  }
  const added = readable.filter(
    slot => !Number.isNaN(before[slot]) && (adds.amounts[slot] > 0 || changes.opens[slot] === 1),
  );
  const add = await runUnlessNone(run, 'add', added, adds);
  // The last step has found the count after the refund. A key with a failed step has no count.
  for (const slot of readable) {
    const failed = Number.isNaN(batch.counts[slot]) || Number.isNaN(before[slot]);
    batch.counts[slot] = failed ? Number.NaN : before[slot];
  }
  const counted = slots.reduce((sum, slot) => sum + (Number.isNaN(batch.counts[slot]) ? 0 : 1), 0);
  return { ...joined([read, took, add]), counted };
}

function runUnlessNone(
  run: StepRunner,
  step: 'add' | 'take',
  slots: Slots,
  changes: SlotChanges,
): Promise<Tally> | Tally {
  return slots.length === 0 ? NOTHING : run(step, slots, changes);
}

/**
 * Holds hits back without a script: reads all counters, decides here, and adds. As in the reference implementation,
 * increments of other processes in between can exceed a limit.
 */
export async function holdBackByReading(
  counters: RedisCounters,
  batch: CounterBatch,
  slots: Slots,
): Promise<Tally> {
  const read = await counters.read(batch, slots);
  const readable = slots.filter(slot => !Number.isNaN(batch.counts[slot]));
  holdBack(batch);
  const changes = heldBackChanges(batch);
  const changed = readable.length === 0 ? NOTHING : await counters.change(batch, readable, changes);
  spreadHeldBack(batch);
  return joined([{ counted: 0, failure: read.failure }, changed]);
}
