import { ADMISSION, REFUSED } from '../../admission/admission.ts';
import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { FORMS } from '../protocol/admission-loops.ts';
import { ADMIT, ADMIT_HOLDING_BACK } from '../protocol/admission-scripts.ts';
import { CommandWriter } from '../protocol/command-writer.ts';
import { NumberPacker } from '../protocol/number-packer.ts';
import { type Chunk, groupStart, opsOf, type Slots, slotsOf, type Tally } from './counters.ts';
import { runScript } from './script-call.ts';
import { leastSecondsToLive, type SharedKeys, writeRefundArguments } from './shared-keys.ts';

/** The limit of a refund, for the script that holds back. */
const IS_REFUND = -1;

/** The length of a window, for the scripts, if it is a fixed one. */
const FIXED_WINDOW = -1;

/** Numbers of the state of a penalty. */
const PENALTY_NUMBERS = 4;

/** Whether the store admits the hits of a slot. */
export function isAdmitted(batch: CounterBatch, slot: number): boolean {
  return batch.admissions.kinds[slot] !== ADMISSION.count;
}

/**
 * Counts batches with sliding windows and token buckets: one atomic script for each chunk. The scripts have the plain
 * counters before the others.
 */
export class AdmissionCommands {
  readonly #sharedKeys: SharedKeys;
  readonly #writer = new CommandWriter();
  readonly #packer = new NumberPacker();

  constructor(sharedKeys: SharedKeys) {
    this.#sharedKeys = sharedKeys;
  }

  /** @throws RedisReplyError, or Fault `store_failed`, if no slot is known to be counted */
  change(link: RedisLink, batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    const plain = slots.filter(slot => !isAdmitted(batch, slot));
    const admitted = slots.filter(slot => isAdmitted(batch, slot));
    return runScript(link, {
      script: ADMIT,
      expected: plain.length + numbersOf(batch, admitted),
      encode: script => {
        const writer = this.#writer;
        writer.command(4 + 6 * plain.length + admitted.length);
        writer.encoded(script);
        writer.number(slots.length);
        for (const slot of plain) writer.key(batch, slot);
        for (const slot of admitted) writer.key(batch, slot);
        for (const slot of plain)
          writeRefundArguments(writer, batch, slot, { changes, shared: this.#sharedKeys });
        writer.word(packedRuns(this.#packer, batch, admitted));
        return writer.take();
      },
      fill: numbers => {
        let counted = 0;
        for (const [i, slot] of plain.entries()) {
          batch.counts[slot] = numbers[i];
          if (!Number.isNaN(numbers[i])) counted++;
        }
        let at = plain.length;
        for (const slot of admitted) {
          if (!Number.isNaN(numbers[at])) counted++;
          at = takeLevel(batch, slot, numbers, at);
        }
        return counted;
      },
    });
  }

  /** Sets `opAfters`, `opHeld` and `opRefused` of the groups. Throws as `change`. */
  holdBack(link: RedisLink, batch: CounterBatch, groups: Chunk): Promise<Tally> {
    const ops = opsOf(batch, groups);
    const used = Int32Array.from(slotsOf(batch, ops).slots);
    const plain = used.filter(slot => !isAdmitted(batch, slot));
    const admitted = used.filter(slot => isAdmitted(batch, slot));
    return runScript(link, {
      script: ADMIT_HOLDING_BACK,
      expected: ops.count * 2 + numbersOf(batch, admitted) - admitted.length,
      encode: script => {
        const writer = this.#writer;
        const hasReserves = batch.admissions.reservedCount > 0;
        writer.command(4 + used.length + (hasReserves ? 1 : 0));
        writer.encoded(script);
        writer.number(used.length);
        for (const slot of plain) writer.key(batch, slot);
        for (const slot of admitted) writer.key(batch, slot);
        const keys = { plain, admitted, leased: NO_SLOTS };
        writer.word(packedRequests(this.#packer, batch, groups, { ...keys, shared: this.#sharedKeys }));
        if (hasReserves) writer.word(packedReserves(this.#packer, batch, ops));
        return writer.take();
      },
      fill: numbers => {
        takeStates(batch, admitted, numbers, ops.count * 2);
        return takeOps(batch, ops, numbers);
      },
    });
  }
}

const NO_SLOTS: Slots = new Int32Array(0);

/** The slots of a chunk of groups by how they are counted, in the order of their keys. */
interface KindsOfSlots {
  readonly plain: Slots;
  /** Neither plain counts nor leased. */
  readonly admitted: Slots;
  readonly leased: Slots;
  readonly shared: SharedKeys;
}

/** The packed numbers of the scripts that hold back. Valid until the next call. */
export function packedRequests(
  packer: NumberPacker,
  batch: CounterBatch,
  groups: Chunk,
  { plain, admitted, leased, shared }: KindsOfSlots,
): Uint8Array {
  const places = new Int32Array(batch.slotCount);
  packer.add(batch.nowMs);
  packer.add(plain.length);
  packer.add(groups.end - groups.first);
  for (const [i, slot] of plain.entries()) {
    places[slot] = i + 1;
    packer.add(batch.ttls[slot]);
    packer.add(leastSecondsToLive(batch, slot, shared));
  }
  for (const [i, slot] of admitted.entries()) {
    places[slot] = plain.length + i + 1;
    packTerms(packer, batch, slot);
    packer.add(lifeS(batch, slot));
    if (batch.admissions.penalties.of(slot) !== null) packPenalty(packer, batch, slot);
    else {
      packer.add(0);
      if (isFixed(batch, slot)) packWindow(packer, batch, slot);
    }
  }
  for (const [i, slot] of leased.entries()) places[slot] = plain.length + admitted.length + i + 1;
  for (let group = groups.first; group < groups.end; group++) {
    const first = groupStart(batch, group);
    const end = groupStart(batch, group + 1);
    packer.add(batch.groupHeld[group]);
    packer.add(end - first);
    for (let op = first; op < end; op++) {
      const slot = batch.opSlots[op];
      const isRefund = batch.opRefunds[op] === 1 && !batch.admissions.isLeased(slot);
      packer.add(places[slot]);
      packer.add(batch.opHits[op]);
      packer.add(isRefund ? IS_REFUND : batch.opLimits[op]);
    }
  }
  return packer.take();
}

/** The packed reserves of ops. Valid until the next call. */
export function packedReserves(
  packer: NumberPacker,
  batch: CounterBatch,
  { first, end }: Pick<Chunk, 'first' | 'end'>,
): Uint8Array {
  for (let op = first; op < end; op++) {
    const slot = batch.opSlots[op];
    packer.add(isAdmitted(batch, slot) && !batch.admissions.isLeased(slot) ? batch.opReserves[op] : 0);
  }
  return packer.take();
}

/** Stores the answers of ops, with which the reply begins. Returns how many were counted. */
export function takeOps(batch: CounterBatch, ops: Chunk, numbers: ArrayLike<number>): number {
  let counted = 0;
  for (let op = ops.first; op < ops.end; op++) {
    takeOp(batch, op, numbers, (op - ops.first) * 2);
    if (!Number.isNaN(batch.opAfters[op])) counted++;
  }
  return counted;
}

/** Stores the answer of an op, which begins at an index of the reply. */
export function takeOp(batch: CounterBatch, op: number, numbers: ArrayLike<number>, at: number): void {
  batch.opAfters[op] = numbers[at];
  batch.opHeld[op] = numbers[at + 1] === 1 ? 1 : 0;
  batch.opRefused[op] = REFUSALS[numbers[at + 1]] ?? REFUSED.no;
}

/** Stores the states of windows and penalties, which begin at an index of the reply. Returns the index after them. */
export function takeStates(
  batch: CounterBatch,
  admitted: Slots,
  numbers: ArrayLike<number>,
  index: number,
): number {
  let at = index;
  for (const slot of admitted) {
    if (isWindow(batch, slot)) {
      batch.admissions.floors[slot] = numbers[at++];
      batch.admissions.previous[slot] = numbers[at++];
    }
    if (batch.admissions.penalties.of(slot) !== null) at = takePenalty(batch, slot, numbers, at);
  }
  return at;
}

/** What the codes of the script that holds back mean for `opRefused`. */
const REFUSALS: readonly number[] = [REFUSED.no, REFUSED.no, REFUSED.full, REFUSED.penalized];

/** The packed numbers of the script for sliding windows and token buckets, without plain counters. Valid until the next call. */
export function packedRuns(packer: NumberPacker, batch: CounterBatch, slots: Slots): Uint8Array {
  packer.add(batch.nowMs);
  for (let first = 0; first < slots.length; ) {
    const form = formOf(batch, slots[first]);
    let end = first + 1;
    while (end < slots.length && isOfGroup(batch, slots[end], slots[first], form)) end++;
    packer.add(form);
    packer.add(end - first);
    packTerms(packer, batch, slots[first]);
    if (form === FORMS.penalized) packPenalty(packer, batch, slots[first]);
    else if (form === FORMS.singleReserved) packer.add(reserveOf(batch, slots[first]));
    if (form === FORMS.singleReserved || form === FORMS.reserved) packWindow(packer, batch, slots[first]);
    for (let i = first; i < end; i++) {
      if (form === FORMS.single || form === FORMS.singleReserved) packSingle(packer, batch, slots[i]);
      else packRuns(packer, batch, slots[i], form === FORMS.reserved);
    }
    first = end;
  }
  return packer.take();
}

function formOf(batch: CounterBatch, slot: number): number {
  const { admissions } = batch;
  if (admissions.penalties.of(slot) !== null) return FORMS.penalized;
  const isReserved = isFixed(batch, slot) || admissions.hasReserve(slot);
  if (admissions.isSingle(slot)) return isReserved ? FORMS.singleReserved : FORMS.single;
  return isReserved ? FORMS.reserved : FORMS.runs;
}

function isOfGroup(batch: CounterBatch, slot: number, first: number, form: number): boolean {
  return (
    formOf(batch, slot) === form &&
    hasTermsOf(batch, slot, first) &&
    (form !== FORMS.singleReserved || reserveOf(batch, slot) === reserveOf(batch, first))
  );
}

/** The reserve of the first request of a slot. */
function reserveOf({ admissions }: CounterBatch, slot: number): number {
  return admissions.runReserves[admissions.firstRuns[slot]];
}

function packSingle(packer: NumberPacker, batch: CounterBatch, slot: number): void {
  const { firstRuns, runHits, kinds } = batch.admissions;
  if (kinds[slot] !== ADMISSION.tokenBucket) packer.add(lifeS(batch, slot));
  packer.add(runHits[firstRuns[slot]]);
}

function packRuns(packer: NumberPacker, batch: CounterBatch, slot: number, hasReserves: boolean): void {
  const { admissions } = batch;
  packer.add(lifeS(batch, slot));
  packer.add(admissions.runsOf(slot));
  for (let run = admissions.firstRuns[slot]; run >= 0; run = admissions.runNext[run]) {
    packer.add(admissions.runHits[run]);
    packer.add(admissions.runRefunds[run] === 1 ? -admissions.runRequests[run] : admissions.runRequests[run]);
    if (hasReserves) packer.add(admissions.runReserves[run]);
  }
}

/** Number of numbers in the reply for these slots. */
export function numbersOf(batch: CounterBatch, slots: Slots): number {
  let numbers = slots.length;
  const { penalties } = batch.admissions;
  for (const slot of slots) {
    if (isWindow(batch, slot)) numbers += 2;
    if (penalties.of(slot) !== null) numbers += PENALTY_NUMBERS;
  }
  return numbers;
}

/** Stores the numbers of a slot, which begin at an index of the reply. Returns the index of the next slot. */
export function takeLevel(
  batch: CounterBatch,
  slot: number,
  numbers: ArrayLike<number>,
  index: number,
): number {
  batch.counts[slot] = numbers[index];
  let at = index + 1;
  if (isWindow(batch, slot)) {
    batch.admissions.floors[slot] = numbers[at++];
    batch.admissions.previous[slot] = numbers[at++];
  }
  return batch.admissions.penalties.of(slot) === null ? at : takePenalty(batch, slot, numbers, at);
}

function takePenalty(
  { admissions }: CounterBatch,
  slot: number,
  numbers: ArrayLike<number>,
  at: number,
): number {
  admissions.penalties.store(slot, numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]);
  return at + PENALTY_NUMBERS;
}

function isWindow(batch: CounterBatch, slot: number): boolean {
  return batch.admissions.kinds[slot] === ADMISSION.slidingWindow;
}

function isFixed(batch: CounterBatch, slot: number): boolean {
  return batch.admissions.kinds[slot] === ADMISSION.fixedWindow;
}

function packTerms(packer: NumberPacker, batch: CounterBatch, slot: number): void {
  const { admissions } = batch;
  packer.add(isFixed(batch, slot) ? FIXED_WINDOW : admissions.windowsS[slot]);
  packer.add(admissions.capacities[slot]);
  packer.add(admissions.scales[slot]);
  packer.add(admissions.drains[slot]);
}

function packPenalty(packer: NumberPacker, batch: CounterBatch, slot: number): void {
  const { after, forS, factor, maxS, windowS } = batch.admissions.penalties.of(slot)!;
  for (const number of [after, forS, factor, maxS, windowS, batch.windowEndS(slot)]) packer.add(number);
}

/** The length and the end of a fixed window. */
function packWindow(packer: NumberPacker, batch: CounterBatch, slot: number): void {
  packer.add(batch.admissions.windowsS[slot]);
  packer.add(batch.windowEndS(slot));
}

function hasTermsOf(batch: CounterBatch, slot: number, other: number): boolean {
  const { admissions } = batch;
  return (
    admissions.kinds[slot] === admissions.kinds[other] &&
    admissions.capacities[slot] === admissions.capacities[other] &&
    admissions.scales[slot] === admissions.scales[other] &&
    admissions.drains[slot] === admissions.drains[other] &&
    admissions.windowsS[slot] === admissions.windowsS[other] &&
    admissions.penalties.of(slot) === admissions.penalties.of(other) &&
    batch.windowEndS(slot) === batch.windowEndS(other)
  );
}

/**
 * How long the state of a sliding window lives after the start of its current window: two windows and the jitter. The count
 * of a fixed window lives for a window from now on.
 */
function lifeS(batch: CounterBatch, slot: number): number {
  if (isFixed(batch, slot)) return batch.ttls[slot];
  return Math.max(2 * batch.admissions.windowsS[slot], batch.ttls[slot]);
}
