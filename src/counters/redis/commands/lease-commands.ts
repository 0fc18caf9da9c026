import { ByteWriter } from '../../../base/bytes.ts';
import type { CounterBatch } from '../../batch.ts';
import { SETTLED_S } from '../../leases/lease.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { CommandWriter } from '../protocol/command-writer.ts';
import { LEASE_HOLDING_BACK } from '../protocol/lease-script.ts';
import { ACCOUNT, ENDS } from '../protocol/lease-states.ts';
import { NumberPacker } from '../protocol/number-packer.ts';
import { CLOCK_SKEW_S } from '../protocol/scripts.ts';
import {
  isAdmitted,
  numbersOf,
  packedRequests,
  packedReserves,
  takeOp,
  takeOps,
  takeStates,
} from './admission-commands.ts';
import { type Chunk, opsOf, type Slots, slotsOf, type Tally } from './counters.ts';
import { LeaseCalls } from './lease-calls.ts';
import { runScript } from './script-call.ts';
import type { SharedKeys } from './shared-keys.ts';

/** Numbers of the reply for each op, for each op with a lease in addition, and for each slot with leases. */
const OP_NUMBERS = 2;
const LEASE_NUMBERS = 4;
const SLOT_NUMBERS = 4;

/** Counts batches of which at least one op has a lease: one atomic script for each chunk, or for each slot. */
export class LeaseCommands {
  readonly #sharedKeys: SharedKeys;
  readonly #writer = new CommandWriter();
  readonly #packer = new NumberPacker();
  readonly #names = new ByteWriter(1_024);

  constructor(sharedKeys: SharedKeys) {
    this.#sharedKeys = sharedKeys;
  }

  /**
   * Sets what the store sets for the ops of the groups.
   * @throws RedisReplyError, or Fault `store_failed`, if no op is known to be counted
   */
  holdBack(link: RedisLink, batch: CounterBatch, groups: Chunk): Promise<Tally> {
    const ops = opsOf(batch, groups);
    const used = Int32Array.from(slotsOf(batch, ops).slots);
    const plain = used.filter(slot => !isAdmitted(batch, slot));
    const leased = used.filter(slot => batch.admissions.isLeased(slot));
    const admitted = used.filter(slot => isAdmitted(batch, slot) && !batch.admissions.isLeased(slot));
    const leasedOps: number[] = [];
    for (let op = ops.first; op < ops.end; op++)
      if (batch.admissions.isLeased(batch.opSlots[op])) leasedOps.push(op);
    const states = numbersOf(batch, admitted) - admitted.length;
    const leaseNumbers = leasedOps.length * LEASE_NUMBERS + leased.length * SLOT_NUMBERS;
    return runScript(link, {
      script: LEASE_HOLDING_BACK,
      expected: ops.count * OP_NUMBERS + states + leaseNumbers,
      encode: script => {
        const writer = this.#writer;
        const keys = plain.length + admitted.length + 2 * leased.length;
        writer.command(7 + keys);
        writer.encoded(script);
        writer.number(keys);
        for (const slot of plain) writer.key(batch, slot);
        for (const slot of admitted) writer.key(batch, slot);
        for (const slot of leased) writeKeys(writer, batch, slot);
        const kinds = { plain, admitted, leased, shared: this.#sharedKeys };
        writer.word(packedRequests(this.#packer, batch, groups, kinds));
        writer.word(packedReserves(this.#packer, batch, ops));
        this.#writeLeases(writer, batch, { slots: leased, ops: leasedOps, calls: LeaseCalls.of(batch) });
        return writer.take();
      },
      fill: numbers => {
        const at = takeSteps(
          batch,
          leasedOps,
          numbers,
          takeStates(batch, admitted, numbers, ops.count * OP_NUMBERS),
        );
        for (const [i, slot] of leased.entries()) takeSlot(batch, slot, numbers, at + i * SLOT_NUMBERS);
        return takeOps(batch, ops, numbers);
      },
    });
  }

  /** Appends a call of the script for one slot. */
  writeSlot(writer: CommandWriter, batch: CounterBatch, call: SlotCall): void {
    const { slot, requests, calls } = call;
    writer.command(9);
    writer.encoded(LEASE_HOLDING_BACK.byDigest);
    writer.number(2);
    writeKeys(writer, batch, slot);
    const packer = this.#packer;
    for (const number of [batch.nowMs, 0, requests.length]) packer.add(number);
    for (const { held, ops } of requests) {
      packer.add(held);
      packer.add(ops.length);
      for (const op of ops)
        for (const number of [1, calls.hitsOf(batch, op), batch.opLimits[op]]) packer.add(number);
    }
    writer.word(packer.take());
    writer.word(packer.take());
    this.#writeLeases(writer, batch, { slots: Int32Array.of(slot), ops: opsOfCall(call), calls });
  }

  #writeLeases(writer: CommandWriter, batch: CounterBatch, { slots, ops, calls }: LeasedOps): void {
    const packer = this.#packer;
    packer.add(slots.length);
    for (const slot of slots) packTerms(packer, batch, slot, calls.isReading);
    for (const op of ops) {
      packer.add(calls.actionOf(batch, op));
      packer.add(batch.opRefunds[op]);
      packer.add(batch.leases.isNamed(op) ? 1 : 0);
      packer.add(calls.addName(this.#names, batch, op));
    }
    writer.word(packer.take());
    writer.word(this.#names.bytes.subarray(0, this.#names.length));
    this.#names.reset();
  }
}

interface LeasedOps {
  readonly slots: Slots;
  readonly ops: readonly number[];
  readonly calls: LeaseCalls;
}

/** The ops of one slot with leases, by request. */
export interface SlotCall {
  readonly slot: number;
  readonly requests: readonly { readonly held: number; readonly ops: readonly number[] }[];
  readonly calls: LeaseCalls;
}

/** The calls for some slots with leases, by slot. */
export function slotCalls(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Map<number, SlotCall> {
  const found = new Map<
    number,
    { slot: number; requests: { held: number; ops: number[] }[]; calls: LeaseCalls }
  >();
  for (const slot of slots) found.set(slot, { slot, requests: [], calls });
  let op = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const first = op;
    // What is taken back was held back as a part of its request.
    const held = calls.isUndo ? 0 : batch.groupHeld[group];
    for (; op < batch.groupEnds[group]; op++) {
      const call = found.get(batch.opSlots[op]);
      if (call === undefined || !calls.has(batch, op)) continue;
      const last = call.requests.at(-1);
      if (last !== undefined && last.ops[0] >= first) last.ops.push(op);
      else call.requests.push({ held, ops: [op] });
    }
  }
  return found;
}

/** Number of numbers in the reply to the call for one slot. */
export function numbersOfCall(call: SlotCall): number {
  return opsOfCall(call).length * (OP_NUMBERS + LEASE_NUMBERS) + SLOT_NUMBERS;
}

/** Stores the reply to the call for one slot. Returns the level, NaN for none. */
export function takeCall(batch: CounterBatch, call: SlotCall, numbers: ArrayLike<number>): number {
  const ops = opsOfCall(call);
  for (const [i, op] of ops.entries()) {
    if (call.calls.isUndo) takeBack(batch, op, numbers[i * OP_NUMBERS]);
    else takeOp(batch, op, numbers, i * OP_NUMBERS);
  }
  const at = ops.length * OP_NUMBERS;
  if (!call.calls.isUndo) takeSteps(batch, ops, numbers, at);
  takeSlot(batch, call.slot, numbers, at + ops.length * LEASE_NUMBERS);
  return batch.counts[call.slot];
}

function opsOfCall({ requests }: SlotCall): number[] {
  return requests.flatMap(({ ops }) => ops);
}

function takeBack({ opAfters, leases }: CounterBatch, op: number, after: number): void {
  opAfters[op] = after;
  leases.held[op] = 0;
  leases.spent[op] = 0;
}

function takeSteps(
  { leases }: CounterBatch,
  ops: readonly number[],
  numbers: ArrayLike<number>,
  index: number,
): number {
  let at = index;
  for (const op of ops) {
    leases.steps[op] = numbers[at++];
    leases.hits[op] = numbers[at++];
    leases.spent[op] = numbers[at++];
    leases.held[op] = numbers[at++];
  }
  return at;
}

function takeSlot(
  { counts, leases }: CounterBatch,
  slot: number,
  numbers: ArrayLike<number>,
  at: number,
): void {
  counts[slot] = numbers[at];
  leases.slotHeld[slot] = numbers[at + 1];
  leases.slotEndsMs[slot] = numbers[at + 2];
  // A batch can ask more than once.
  leases.slotExpired[slot] += numbers[at + 3];
}

/** Appends the names of both keys of a slot with leases. */
export function writeKeys(writer: CommandWriter, batch: CounterBatch, slot: number): void {
  writer.relatedKey(batch, slot, ACCOUNT);
  writer.relatedKey(batch, slot, ENDS);
}

/** @param isReading true if nothing must be written */
function packTerms(packer: NumberPacker, batch: CounterBatch, slot: number, isReading: boolean): void {
  const { capacities, windowsS } = batch.admissions;
  const { mode, forS, hasHolders, estimate, settles, zeroSettles, allowsOverdraft } = batch.leases.of(slot);
  packer.add(mode);
  packer.add(forS * 1_000);
  packer.add(hasHolders ? 1 : 0);
  packer.add(estimate);
  packer.add(settles ? 1 : 0);
  packer.add(zeroSettles ? 1 : 0);
  packer.add(allowsOverdraft ? 1 : 0);
  packer.add(capacities[slot]);
  packer.add(windowsS[slot]);
  packer.add(batch.windowEndS(slot));
  // A lease that has expired is remembered for its length.
  packer.add(isReading ? 0 : Math.max(batch.ttls[slot], 2 * forS, SETTLED_S) + CLOCK_SKEW_S);
}
