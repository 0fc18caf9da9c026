import { grownCapacity } from '../base/bytes.ts';
import { ADMISSION } from './admission/admission.ts';
import type { AdmissionSlots } from './admission/admission-slots.ts';
import type { PenaltyTerms } from './admission/penalty.ts';
import type { SlotPenalties } from './admission/slot-penalties.ts';
import type { CounterBatch, CounterOp } from './batch.ts';

/**
 * Numbers at the beginning of the bytes: `nowMs`, `secondsApart`, and the numbers of slots, ops, groups, key bytes, of slots
 * whose hits the store admits, and of slots with a penalty.
 */
const HEADER = 8;

/** Numbers of each slot in the columns of {@link AdmissionSlots}. Batches without such slots do not have these columns. */
const TERMS = 4;

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
  const floats = HEADER + slots + 2 * ops + TERMS * admitted + PENALTY_TERMS * penalized;
  const bytes = slots + ops + groups + admitted + batch.keys.length;
  const needed = 8 * floats + 4 * (2 * slots + ops + groups) + bytes;
  const buffer = spare !== null && spare.byteLength >= needed ? spare : newBuffer(needed);
  const columns = new Columns(buffer);
  const secondsApart = batch.secondsApart ? 1 : 0;
  const sizes = [slots, ops, groups, batch.keys.length, batch.admissions.count, penalties.count];
  columns.floats(HEADER).set([batch.nowMs, secondsApart, ...sizes]);
  packTerms(batch.admissions, columns.floats(TERMS * admitted));
  packPenalties(batch, columns.floats(PENALTY_TERMS * penalized));
  columns.floats(slots).set(batch.expiries.subarray(0, slots));
  columns.floats(ops).set(batch.opHits.subarray(0, ops));
  columns.floats(ops).set(batch.opLimits.subarray(0, ops));
  columns.ints(slots).set(batch.keyEnds.subarray(0, slots));
  columns.ints(slots).set(batch.ttls.subarray(0, slots));
  columns.ints(ops).set(batch.opSlots.subarray(0, ops));
  columns.ints(groups).set(batch.groupEnds.subarray(0, groups));
  columns.bytes(slots).set(batch.units.subarray(0, slots));
  columns.bytes(ops).set(batch.opRefunds.subarray(0, ops));
  columns.bytes(groups).set(batch.groupHeld.subarray(0, groups));
  columns.bytes(admitted).set(batch.admissions.kinds.subarray(0, admitted));
  columns.bytes(batch.keys.length).set(batch.keys.bytes.subarray(0, batch.keys.length));
  return buffer;
}

/**
 * Fills a batch with the ops and groups of {@link packBatch}. Slots and ops get the same numbers if both batches have the
 * same fingerprint key.
 */
export function unpackBatch(buffer: ArrayBuffer, batch: CounterBatch): void {
  const columns = new Columns(buffer);
  const [nowMs, secondsApart, slots, ops, groups, keyBytes, admissions, penalties] = columns.floats(HEADER);
  const admitted = admissions > 0 ? slots : 0;
  const terms = columns.floats(TERMS * admitted);
  const penaltyTerms = penaltiesIn(columns.floats(PENALTY_TERMS * (penalties > 0 ? slots : 0)));
  const expiries = columns.floats(slots);
  const opHits = columns.floats(ops);
  const opLimits = columns.floats(ops);
  const keyEnds = columns.ints(slots);
  const ttls = columns.ints(slots);
  const opSlots = columns.ints(ops);
  const groupEnds = columns.ints(groups);
  const units = columns.bytes(slots);
  const opRefunds = columns.bytes(ops);
  const groupHeld = columns.bytes(groups);
  const kinds = columns.bytes(admitted);
  const keys = columns.bytes(keyBytes);
  batch.secondsApart = secondsApart === 1;
  batch.reset(nowMs);
  let op = 0;
  for (let group = 0; group < groups; group++) {
    for (; op < groupEnds[group]; op++) {
      const slot = opSlots[op];
      const key = { start: slot === 0 ? 0 : keyEnds[slot - 1], end: keyEnds[slot] };
      batch.addOp(keys, key, {
        hits: opHits[op],
        isRefund: opRefunds[op] === 1,
        limit: opLimits[op],
        unit: units[slot],
        ttlS: ttls[slot],
        expiryS: expiries[slot],
        ...(admitted > 0 ? termsIn(terms, kinds, slot, penaltyTerms[slot] ?? null) : null),
      });
    }
    batch.endGroup(groupHeld[group] === 1);
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
  packed: Float64Array,
  kinds: Uint8Array,
  slot: number,
  penalty: PenaltyTerms | null,
): Pick<CounterOp, 'terms'> {
  const admission = kinds[slot];
  if (admission === ADMISSION.count) return {};
  const [scale, capacity, drain, windowS] = packed.subarray(slot * TERMS, (slot + 1) * TERMS);
  const terms = { admission, scale, capacity, drain, windowS };
  return { terms: penalty === null ? terms : { ...terms, penalty } };
}

/** Writes what the store has set in a batch, except the text, into the buffer from which the batch was filled. */
export function packCounts(batch: CounterBatch, buffer: ArrayBuffer): void {
  const columns = new Columns(buffer);
  columns.floats(batch.slotCount).set(batch.counts.subarray(0, batch.slotCount));
  columns.floats(batch.opCount).set(batch.opAfters.subarray(0, batch.opCount));
  const { admissions } = batch;
  const admitted = admissions.count > 0 ? batch.slotCount : 0;
  columns.floats(admitted).set(admissions.floors.subarray(0, admitted));
  columns.floats(admitted).set(admissions.previous.subarray(0, admitted));
  for (const state of statesOf(admissions.penalties)) {
    columns.floats(batch.slotCount).set(state.subarray(0, batch.slotCount));
  }
  columns.bytes(batch.opCount).set(batch.opHeld.subarray(0, batch.opCount));
  columns.bytes(batch.opCount).set(batch.opRefused.subarray(0, batch.opCount));
}

/** Sets the counts of the original batch from {@link packCounts}. */
export function unpackCounts(buffer: ArrayBuffer, batch: CounterBatch): void {
  const columns = new Columns(buffer);
  batch.counts.set(columns.floats(batch.slotCount));
  batch.opAfters.set(columns.floats(batch.opCount));
  const admitted = batch.admissions.count > 0 ? batch.slotCount : 0;
  batch.admissions.floors.set(columns.floats(admitted));
  batch.admissions.previous.set(columns.floats(admitted));
  for (const state of statesOf(batch.admissions.penalties)) {
    state.set(columns.floats(batch.slotCount).subarray(0, state.length));
  }
  batch.opHeld.set(columns.bytes(batch.opCount));
  batch.opRefused.set(columns.bytes(batch.opCount));
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
