import { Fault } from '../../../base/fault.ts';
import { REFUSED } from '../../admission/admission.ts';
import type { CounterBatch } from '../../batch.ts';
import { heldBackChanges, holdBackAfterLeases, spreadHeldBack } from '../../holding-back.ts';
import { groupStart, joined, NOTHING, type RedisCounters, type Slots, type Tally } from './counters.ts';
import { LeaseCalls } from './lease-calls.ts';

/**
 * Counts a batch with leases whose keys are in several servers. The leases are decided first, each limit by a script, so
 * their limits are never exceeded. If another limit of a request is full then, what the request has taken of leases is
 * taken back. Until this is done, other requests find the limits fuller than they are. Limits without leases are counted
 * as in `holdBackByReading`.
 */
export async function holdBackLeasesFirst(
  counters: RedisCounters,
  batch: CounterBatch,
  slots: Slots,
): Promise<Tally> {
  const leased = slots.filter(slot => batch.admissions.isLeased(slot));
  const others = slots.filter(slot => !batch.admissions.isLeased(slot));
  const calls = LeaseCalls.of(batch);
  const decided = await counters.lease(batch, leased, calls);
  leaveUncounted(batch);
  const read = others.length === 0 ? NOTHING : await counters.read(batch, others);
  const readable = others.filter(slot => !Number.isNaN(batch.counts[slot]));
  holdBackAfterLeases(batch);
  const changes = heldBackChanges(batch);
  const [changed] = await Promise.all([
    readable.length === 0 ? NOTHING : counters.change(batch, readable, changes),
    takeBack(counters, batch, leased, calls.takingBack()),
  ]);
  spreadHeldBack(batch);
  return joined([decided, { counted: 0, failure: read.failure }, changed]);
}

function leaveUncounted(batch: CounterBatch): void {
  for (let op = 0; op < batch.opCount; op++) {
    const slot = batch.opSlots[op];
    if (!batch.admissions.isLeased(slot) || !Number.isNaN(batch.counts[slot])) continue;
    batch.opAfters[op] = Number.NaN;
    batch.opHeld[op] = 0;
    batch.opRefused[op] = REFUSED.no;
  }
}

/** Takes back what held back ops have done. If this fails, the leases end by themselves. */
async function takeBack(
  counters: RedisCounters,
  batch: CounterBatch,
  leased: Slots,
  calls: LeaseCalls,
): Promise<void> {
  const { taken, beside } = whatWasTaken(batch, calls);
  if (taken.size === 0) return;
  const levels = batch.counts.slice(0, batch.slotCount);
  try {
    await counters.lease(
      batch,
      leased.filter(slot => taken.has(slot)),
      calls,
    );
  } catch (failure) {
    if (!(failure instanceof Fault)) throw failure;
  }
  // What could not be taken back was counted nevertheless.
  for (const slot of taken) if (Number.isNaN(batch.counts[slot])) batch.counts[slot] = levels[slot];
  for (const op of beside) batch.opAfters[op] = batch.counts[batch.opSlots[op]];
}

/** The slots of which something is taken back, and the ops that are held back together with what is. */
function whatWasTaken(batch: CounterBatch, calls: LeaseCalls) {
  const taken = new Set<number>();
  const beside: number[] = [];
  for (let group = 0; group < batch.groupCount; group++) {
    const ofGroup = new Set<number>();
    const [first, end] = [groupStart(batch, group), groupStart(batch, group + 1)];
    for (let op = first; op < end; op++) {
      const slot = batch.opSlots[op];
      if (batch.admissions.isLeased(slot) && calls.has(batch, op)) ofGroup.add(slot);
    }
    for (const slot of ofGroup) taken.add(slot);
    for (let op = first; op < end && ofGroup.size > 0; op++) {
      if (ofGroup.has(batch.opSlots[op]) && batch.opHeld[op] === 1) beside.push(op);
    }
  }
  return { taken, beside };
}

/** Reads the counts of all slots, with or without leases. */
export async function readAll(counters: RedisCounters, batch: CounterBatch, slots: Slots): Promise<Tally> {
  if (batch.leases.count === 0) return counters.read(batch, slots);
  const leased = slots.filter(slot => batch.admissions.isLeased(slot));
  const others = slots.filter(slot => !batch.admissions.isLeased(slot));
  return joined(
    await Promise.all([
      leased.length === 0 ? NOTHING : counters.lease(batch, leased, LeaseCalls.none()),
      others.length === 0 ? NOTHING : counters.read(batch, others),
    ]),
  );
}
