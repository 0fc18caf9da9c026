import { grownCapacity } from '../base/bytes.ts';
import { ADMISSION } from './admission/admission.ts';
import type { AdmissionSlots } from './admission/admission-slots.ts';
import type { PenaltyTerms } from './admission/penalty.ts';
import type { SlotPenalties } from './admission/slot-penalties.ts';
import type { CounterBatch, CounterOp } from './batch.ts';
import { LEASE_TERMS, leaseIn, leaseTermsIn, packLeases } from './packed-leases.ts';

/**
 * Numbers at the beginning of the bytes: `nowMs`, `secondsApart`, and the numbers of slots, ops, groups, key bytes, of slots
 * whose hits the store admits, of slots with a penalty, of requests with a reserve, of ops with a lease, and of bytes of
 * the names of holders.
 */
const HEADER = 11;

/** Numbers of each slot in the columns of {@link AdmissionSlots}. Batches without such slots do not have these columns. */
const TERMS = 4;

/** Numbers that the store sets for each op of a batch with leases, and for its slot. */
const LEASE_RESULTS = 6;

/** Numbers of each slot for the terms of penalties. Batches without penalties do not have these columns. */
const PENALTY_TERMS = 5;

/**
 * Writes the ops and groups of a batch into one buffer, which can be transferred to another thread. Counts that the
 * store sets later are not included.
 *
 * @param spare is used if it is large enough; null to allocate a buffer
 */
export function packBatch(batch: CounterBatch, spare: ArrayBuffer | null): ArrayBuffer {
  const { slotCount: slots, opCount: ops, groupCount: groups } = batch;
  const admitted = batch.admissions.count > 0 ? slots : 0;
  const { penalties } = batch.admissions;
  const penalized = penalties.count > 0 ? slots : 0;
  const { reservedCount } = batch.admissions;
  const reserved = reservedCount > 0 ? ops : 0;
  const [leasedSlots, leasedOps] = batch.leases.count > 0 ? [slots, ops] : [0, 0];
  const terms = TERMS * admitted + PENALTY_TERMS * penalized + LEASE_TERMS * leasedSlots;
  const floats = HEADER + slots + 2 * ops + reserved + terms;
  const ints = 2 * slots + ops + groups + leasedOps;
  const holderBytes = leasedOps === 0 ? 0 : batch.leases.holders.length;
  const bytes = slots + ops + groups + admitted + batch.keys.length + leasedOps + holderBytes;
  const needed = 8 * (floats + LEASE_RESULTS * leasedOps) + 4 * ints + bytes;
  const buffer = spare !== null && spare.byteLength >= needed ? spare : newBuffer(needed);
  const secondsApart = batch.secondsApart ? 1 : 0;
  const sizes = [
    slots,
    ops,
    groups,
    batch.keys.length,
    batch.admissions.count,
    penalties.count,
    reservedCount,
    batch.leases.count,
    holderBytes,
  ];
  new Float64Array(buffer, 0, HEADER).set([batch.nowMs, secondsApart, ...sizes]);
  const parts = partsOf(buffer);
  packTerms(batch.admissions, parts.terms);
  packPenalties(batch, parts.penalties);
  parts.expiries.set(batch.expiries.subarray(0, slots));
  parts.opHits.set(batch.opHits.subarray(0, ops));
  parts.opLimits.set(batch.opLimits.subarray(0, ops));
  parts.opReserves.set(batch.opReserves.subarray(0, reserved));
  parts.keyEnds.set(batch.keyEnds.subarray(0, slots));
  parts.ttls.set(batch.ttls.subarray(0, slots));
  parts.opSlots.set(batch.opSlots.subarray(0, ops));
  parts.groupEnds.set(batch.groupEnds.subarray(0, groups));
  parts.units.set(batch.units.subarray(0, slots));
  parts.opRefunds.set(batch.opRefunds.subarray(0, ops));
  parts.groupHeld.set(batch.groupHeld.subarray(0, groups));
  parts.kinds.set(batch.admissions.kinds.subarray(0, admitted));
  parts.keys.set(batch.keys.bytes.subarray(0, batch.keys.length));
  if (leasedOps > 0) packLeases(batch, parts);
  return buffer;
}

type Parts = Omit<ReturnType<typeof partsOf>, 'keys' | 'keyEnds' | 'opSlots' | 'groupEnds'>;

/** The parts of the bytes of {@link packBatch}, whose header is written. */
function partsOf(buffer: ArrayBuffer) {
  const columns = new Columns(buffer);
  const [nowMs, secondsApart, slots, ops, groups, keyBytes, admissions, penalties, ...more] =
    columns.floats(HEADER);
  const [reserved, leases, holderBytes] = more;
  const admitted = admissions > 0 ? slots : 0;
  return {
    nowMs,
    secondsApart: secondsApart === 1,
    terms: columns.floats(TERMS * admitted),
    penalties: columns.floats(PENALTY_TERMS * (penalties > 0 ? slots : 0)),
    leaseTerms: columns.floats(LEASE_TERMS * (leases > 0 ? slots : 0)),
    expiries: columns.floats(slots),
    opHits: columns.floats(ops),
    opLimits: columns.floats(ops),
    opReserves: columns.floats(reserved > 0 ? ops : 0),
    keyEnds: columns.ints(slots),
    ttls: columns.ints(slots),
    opSlots: columns.ints(ops),
    groupEnds: columns.ints(groups),
    holderEnds: columns.ints(leases > 0 ? ops : 0),
    units: columns.bytes(slots),
    opRefunds: columns.bytes(ops),
    groupHeld: columns.bytes(groups),
    kinds: columns.bytes(admitted),
    keys: columns.bytes(keyBytes),
    actions: columns.bytes(leases > 0 ? ops : 0),
    holders: columns.bytes(holderBytes),
  };
}

/**
 * Fills a batch with the ops and groups of {@link packBatch}. Slots and ops get the same numbers if both batches have the
 * same fingerprint key.
 */
export function unpackBatch(buffer: ArrayBuffer, batch: CounterBatch): void {
  const { keys, keyEnds, opSlots, groupEnds, ...parts } = partsOf(buffer);
  const penalties = penaltiesIn(parts.penalties);
  batch.secondsApart = parts.secondsApart;
  batch.reset(parts.nowMs);
  let op = 0;
  for (const [group, end] of groupEnds.entries()) {
    for (; op < end; op++) {
      const slot = opSlots[op];
      const key = { start: slot === 0 ? 0 : keyEnds[slot - 1], end: keyEnds[slot] };
      batch.addOp(keys, key, {
        hits: parts.opHits[op],
        isRefund: parts.opRefunds[op] === 1,
        limit: parts.opLimits[op],
        unit: parts.units[slot],
        ttlS: parts.ttls[slot],
        expiryS: parts.expiries[slot],
        ...(parts.kinds.length > 0
          ? termsIn(parts, slot, { penalty: penalties[slot] ?? null, reserve: parts.opReserves[op] ?? 0 })
          : null),
        ...(parts.kinds[slot] === ADMISSION.leased ? leaseIn(parts, op) : null),
      });
    }
    batch.endGroup(parts.groupHeld[group] === 1);
  }
}

/** Writes the terms of all slots; those of plain counts are not read again. */
function packTerms(admissions: AdmissionSlots, terms: Float64Array): void {
  for (let at = 0, slot = 0; at < terms.length; slot++) {
    terms[at++] = admissions.scales[slot];
    terms[at++] = admissions.capacities[slot];
    terms[at++] = admissions.drains[slot];
    terms[at++] = admissions.windowsS[slot];
  }
}

/** Writes zeros for slots without a penalty. */
function packPenalties({ admissions }: CounterBatch, packed: Float64Array): void {
  for (let at = 0, slot = 0; at < packed.length; at += PENALTY_TERMS, slot++) {
    const terms = admissions.kinds[slot] === ADMISSION.count ? null : admissions.penalties.of(slot);
    if (terms === null) packed.fill(0, at, at + PENALTY_TERMS);
    else packed.set([terms.after, terms.forS, terms.factor, terms.maxS, terms.windowS], at);
  }
}

/** By slot; null for none. */
function penaltiesIn(packed: Float64Array): (PenaltyTerms | null)[] {
  return Array.from({ length: packed.length / PENALTY_TERMS }, (_, slot) => {
    const [after, forS, factor, maxS, windowS] = packed.subarray(slot * PENALTY_TERMS);
    return after === 0 ? null : { after, forS, factor, maxS, windowS };
  });
}

function termsIn(
  parts: Parts,
  slot: number,
  { penalty, reserve }: { readonly penalty: PenaltyTerms | null; readonly reserve: number },
): Pick<CounterOp, 'terms'> {
  const admission = parts.kinds[slot];
  if (admission === ADMISSION.count) return {};
  const [scale, capacity, drain, windowS] = parts.terms.subarray(slot * TERMS, (slot + 1) * TERMS);
  const terms = { admission, scale, capacity, drain, windowS };
  if (admission === ADMISSION.leased) return { terms: { ...terms, lease: leaseTermsIn(parts, slot) } };
  if (reserve > 0) return { terms: { ...terms, reserve } };
  return { terms: penalty === null ? terms : { ...terms, penalty } };
}

/** Writes what the store has set in a batch, except the text, into the buffer from which the batch was filled. */
export function packCounts(batch: CounterBatch, buffer: ArrayBuffer): void {
  for (const [column, packed] of countsIn(batch, buffer)) packed.set(column.subarray(0, packed.length));
}

/** Sets the counts of the original batch from {@link packCounts}. */
export function unpackCounts(buffer: ArrayBuffer, batch: CounterBatch): void {
  for (const [column, packed] of countsIn(batch, buffer)) column.set(packed.subarray(0, column.length));
}

/** The columns that the store sets, each with its place in the buffer. */
function countsIn(batch: CounterBatch, buffer: ArrayBuffer) {
  const columns = new Columns(buffer);
  const { admissions, leases, slotCount, opCount } = batch;
  const leased = leases.count > 0 ? 1 : 0;
  const admitted = admissions.count > 0 ? slotCount : 0;
  return [
    [batch.counts, columns.floats(slotCount)],
    [batch.opAfters, columns.floats(opCount)],
    [admissions.floors, columns.floats(admitted)],
    [admissions.previous, columns.floats(admitted)],
    ...statesOf(admissions.penalties).map(state => [state, columns.floats(slotCount)] as const),
    ...[leases.hits, leases.spent, leases.held].map(
      column => [column, columns.floats(leased * opCount)] as const,
    ),
    ...[leases.slotHeld, leases.slotEndsMs, leases.slotExpired].map(
      column => [column, columns.floats(leased * slotCount)] as const,
    ),
    [batch.opHeld, columns.bytes(opCount)],
    [batch.opRefused, columns.bytes(opCount)],
    [leases.steps, columns.bytes(leased * opCount)],
  ] as const;
}

/** The columns with the states of penalties; none without penalties. */
function statesOf({ count, violations, penalties, closes, untils }: SlotPenalties): Float64Array[] {
  return count === 0 ? [] : [violations, penalties, closes, untils];
}

/** The size is a power of two, so that a buffer that comes back fits most later batches. */
function newBuffer(needed: number): ArrayBuffer {
  return new ArrayBuffer(grownCapacity(0, needed));
}

/** Views of consecutive parts of a buffer. The parts with the widest numbers come first, so all are aligned. */
class Columns {
  readonly #buffer: ArrayBuffer;
  #at = 0;

  constructor(buffer: ArrayBuffer) {
    this.#buffer = buffer;
  }

  floats(length: number): Float64Array {
    const column = new Float64Array(this.#buffer, this.#at, length);
    this.#at += column.byteLength;
    return column;
  }

  ints(length: number): Int32Array {
    const column = new Int32Array(this.#buffer, this.#at, length);
    this.#at += column.byteLength;
    return column;
  }

  bytes(length: number): Uint8Array {
    const column = new Uint8Array(this.#buffer, this.#at, length);
    this.#at += column.byteLength;
    return column;
  }
}
