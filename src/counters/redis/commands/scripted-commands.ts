import { isUnknownScript, RedisReplyError } from '../../../clients/redis/errors.ts';
import type { CounterBatch, SlotChanges } from '../../batch.ts';
import { isUnit, windowLengthS, windowStartS } from '../../window.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { CommandWriter, encodedWords } from '../protocol/command-writer.ts';
import { HOLD_BACK, INCREMENT, REFUND, readScriptReply, type Script } from '../protocol/scripts.ts';
import { type Chunk, groupStart, opsOf, type Slots, slotsOf, type Tally } from './counters.ts';

/** Every unit, as `window.ts` numbers them. */
const UNITS = [1, 2, 3, 4, 5, 6, 7];

/** Maximum difference between the clocks of the processes that count in one Redis. */
const CLOCK_SKEW_S = 60;

/**
 * Determines for which counters it is not enough to set the time to live when the key is created.
 *
 * A key contains the start of its window but not the unit. A counter of an hour and one of a minute can therefore have the
 * same key, and the time to live of the longer window must win. A counter of a shorter window can exist only for a while
 * after the start of the window; later, the key belongs to the longer window alone.
 */
export class SharedKeys {
  readonly #jitterS: number;
  /** By unit: 1 while a counter of a shorter window with the same key may exist. */
  readonly #shared = new Uint8Array(UNITS.length + 1);
  #atS = -1;

  /** @param jitterS maximum number of seconds by which a time to live exceeds its window */
  constructor(jitterS: number) {
    this.#jitterS = Math.max(jitterS, 0);
  }

  /** By unit: 1 if the time to live must be checked. Valid until the next call. */
  at(nowS: number): Uint8Array {
    if (nowS === this.#atS) return this.#shared;
    this.#atS = nowS;
    this.#shared[0] = 1;
    for (const unit of UNITS) this.#shared[unit] = this.#isShared(unit, nowS) ? 1 : 0;
    return this.#shared;
  }

  #isShared(unit: number, nowS: number): boolean {
    if (!isUnit(unit)) return true;
    const startS = windowStartS(unit, nowS);
    let longestS = 0;
    for (const other of UNITS) {
      const lengthS = windowLengthS(other);
      if (lengthS < windowLengthS(unit) && startS % lengthS === 0) longestS = Math.max(longestS, lengthS);
    }
    if (longestS === 0) return false;
    return nowS - startS <= 2 * longestS + this.#jitterS + CLOCK_SKEW_S;
  }
}

/** One call of a script. */
interface ScriptCall {
  readonly script: Script;
  /** Number of numbers in the reply. */
  readonly expected: number;
  readonly encode: (script: Uint8Array) => Buffer;
  /** Stores the numbers (NaN for keys that were not counted). Returns how many slots or ops were counted. */
  readonly fill: (numbers: Float64Array) => number;
}

/** Counts with scripts: one atomic command for each chunk. */
export class ScriptedCommands {
  readonly #sharedKeys: SharedKeys;
  readonly #writer = new CommandWriter();

  constructor(sharedKeys: SharedKeys) {
    this.#sharedKeys = sharedKeys;
  }

  /** @throws RedisReplyError, or Fault `store_failed`, if no slot is known to be counted */
  change(link: RedisLink, batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    if (batch.refundCount > 0) return this.#changeWithRefunds(link, batch, slots, changes);
    const { amounts } = changes;
    return this.#run(link, {
      script: INCREMENT,
      expected: slots.length,
      encode: script => this.#encodeAdd(script, batch, slots, amounts),
      fill: numbers => {
        let counted = 0;
        for (let i = 0; i < slots.length; i++) {
          const slot = slots[i];
          batch.counts[slot] = numbers[i] - amounts[slot];
          if (!Number.isNaN(numbers[i])) counted++;
        }
        return counted;
      },
    });
  }

  #changeWithRefunds(
    link: RedisLink,
    batch: CounterBatch,
    slots: Slots,
    changes: SlotChanges,
  ): Promise<Tally> {
    return this.#run(link, {
      script: REFUND,
      expected: slots.length,
      encode: script => this.#encodeRefund(script, batch, slots, changes),
      fill: numbers => {
        let counted = 0;
        for (let i = 0; i < slots.length; i++) {
          batch.counts[slots[i]] = numbers[i];
          if (!Number.isNaN(numbers[i])) counted++;
        }
        return counted;
      },
    });
  }

  /** Sets `opAfters` and `opHeld` of the groups. Throws as `change`. */
  holdBack(link: RedisLink, batch: CounterBatch, groups: Chunk): Promise<Tally> {
    const ops = opsOf(batch, groups);
    return this.#run(link, {
      script: HOLD_BACK,
      expected: ops.count * 2,
      encode: script => this.#encodeHoldBack(script, batch, groups),
      fill: numbers => {
        let counted = 0;
        for (let op = ops.first; op < ops.end; op++) {
          const at = (op - ops.first) * 2;
          batch.opAfters[op] = numbers[at];
          batch.opHeld[op] = numbers[at + 1] === 1 ? 1 : 0;
          if (!Number.isNaN(numbers[at])) counted++;
        }
        return counted;
      },
    });
  }

  async #run(link: RedisLink, { script, expected, encode, fill }: ScriptCall): Promise<Tally> {
    let [reply] = await link.exchange(encode(script.byDigest), 1);
    // The error for an unknown script says that it did not run, so sending its text counts nothing twice.
    if (reply instanceof RedisReplyError && isUnknownScript(reply)) {
      [reply] = await link.exchange(encode(script.byText), 1);
    }
    if (reply instanceof RedisReplyError) throw reply;
    const read = readScriptReply(reply, expected);
    if (read === null) throw link.fault('unexpected reply to a script');
    return { counted: fill(read.numbers), failure: read.failure };
  }

  #encodeAdd(script: Uint8Array, batch: CounterBatch, slots: Slots, amounts: Float64Array): Buffer {
    const writer = this.#writer;
    const shared = this.#sharedKeys.at(batch.nowS);
    let sharedCount = 0;
    for (const slot of slots) sharedCount += shared[batch.units[slot]];
    writer.command(3 + 3 * slots.length + 2 * sharedCount);
    writer.encoded(script);
    writer.number(slots.length);
    for (const slot of slots) writer.key(batch, slot);
    for (const slot of slots) {
      writer.number(amounts[slot]);
      writer.number(batch.ttls[slot]);
    }
    for (let i = 0; sharedCount > 0 && i < slots.length; i++) {
      if (shared[batch.units[slots[i]]] === 0) continue;
      writer.number(i + 1);
      writer.number(secondsLeft(batch, slots[i]));
    }
    return writer.take();
  }

  #encodeRefund(script: Uint8Array, batch: CounterBatch, slots: Slots, changes: SlotChanges): Buffer {
    const writer = this.#writer;
    writer.command(3 + 6 * slots.length);
    writer.encoded(script);
    writer.number(slots.length);
    for (const slot of slots) writer.key(batch, slot);
    for (const slot of slots)
      writeRefundArguments(writer, batch, slot, { changes, shared: this.#sharedKeys });
    return writer.take();
  }

  #encodeHoldBack(script: Uint8Array, batch: CounterBatch, groups: Chunk): Buffer {
    const writer = this.#writer;
    const shared = this.#sharedKeys.at(batch.nowS);
    const ops = opsOf(batch, groups);
    const { slots, places } = slotsOf(batch, ops);
    writer.command(3 + 3 * slots.length + 2 * (groups.end - groups.first) + 3 * ops.count);
    writer.encoded(script);
    writer.number(slots.length);
    for (const slot of slots) writer.key(batch, slot);
    for (const slot of slots) {
      writer.number(batch.ttls[slot]);
      writer.number(shared[batch.units[slot]] === 0 ? 0 : secondsLeft(batch, slot));
    }
    for (let group = groups.first; group < groups.end; group++) {
      const first = groupStart(batch, group);
      const end = groupStart(batch, group + 1);
      writer.number(batch.groupHeld[group]);
      writer.number(end - first);
      for (let op = first; op < end; op++) {
        writer.number(places[batch.opSlots[op]] + 1);
        writer.number(batch.opHits[op]);
        if (batch.opRefunds[op] === 1) writer.encoded(IS_REFUND);
        else writer.number(batch.opLimits[op]);
      }
    }
    return writer.take();
  }
}

/** Writes the arguments of the refund script for one key. */
export function writeRefundArguments(
  writer: CommandWriter,
  batch: CounterBatch,
  slot: number,
  { changes, shared }: { readonly changes: SlotChanges; readonly shared: SharedKeys },
): void {
  writer.number(changes.refunds[slot]);
  writer.number(changes.amounts[slot]);
  writer.number(changes.opens[slot]);
  writer.number(batch.ttls[slot]);
  writer.number(shared.at(batch.nowS)[batch.units[slot]] === 0 ? 0 : secondsLeft(batch, slot));
}

const IS_REFUND = encodedWords('-');

/** Seconds until the window ends. */
function secondsLeft(batch: CounterBatch, slot: number): number {
  return Math.max(batch.expiries[slot] - batch.nowS, 0);
}
