import type { CounterBatch } from '../batch.ts';
import { holdBack } from '../holding-back.ts';
import { joined, NOTHING, type RedisCounters, type Slots, type Tally } from './counters.ts';

/**
 * Holds back by reading all counters, deciding here, and adding. As with the reference implementation a limit may be
 * passed by what others add in between; where counters can do it atomically, they do.
 */
export async function holdBackByReading(
  counters: RedisCounters,
  batch: CounterBatch,
  slots: Slots,
): Promise<Tally> {
  const read = await counters.read(batch, slots);
  const readable = slots.filter(slot => !Number.isNaN(batch.totals[slot]));
  holdBack(batch, batch.totals.slice(0, batch.slotCount));
  const amounts = new Float64Array(batch.slotCount);
  for (let op = 0; op < batch.opCount; op++) {
    if (batch.opHeld[op] === 0) amounts[batch.opSlots[op]] += batch.opHits[op];
  }
  const added = readable.length === 0 ? NOTHING : await counters.add(batch, readable, amounts);
  spreadTotals(batch, amounts);
  return joined([{ counted: 0, failure: read.failure }, added]);
}

/** Works out `opAfters` from `totals`, which hold the counts after all that was added. */
function spreadTotals(batch: CounterBatch, amounts: Float64Array): void {
  for (let slot = 0; slot < batch.slotCount; slot++) batch.totals[slot] -= amounts[slot];
  for (let op = 0; op < batch.opCount; op++) {
    const slot = batch.opSlots[op];
    if (batch.opHeld[op] === 0) batch.totals[slot] += batch.opHits[op];
    batch.opAfters[op] = batch.totals[slot];
  }
}
