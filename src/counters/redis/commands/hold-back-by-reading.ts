import type { CounterBatch } from '../../batch.ts';
import { heldBackChanges, holdBack, spreadHeldBack } from '../../holding-back.ts';
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
  const readable = slots.filter(slot => !Number.isNaN(batch.counts[slot]));
  holdBack(batch);
  const changes = heldBackChanges(batch);
  const changed = readable.length === 0 ? NOTHING : await counters.change(batch, readable, changes);
  spreadHeldBack(batch);
  return joined([{ counted: 0, failure: read.failure }, changed]);
}
