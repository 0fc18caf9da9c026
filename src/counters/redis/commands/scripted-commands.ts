import { type CounterBatch, NEVER_FULL } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { CommandWriter, encodedWords } from '../protocol/command-writer.ts';
import { HOLD_BACK, INCREMENT, REFUND } from '../protocol/scripts.ts';
import { AdmissionCommands } from './admission-commands.ts';
import { type Chunk, groupStart, opsOf, type Slots, slotsOf, type Tally } from './counters.ts';
import { LeaseCommands } from './lease-commands.ts';
import { runScript } from './script-call.ts';
import { leastSecondsToLive, type SharedKeys, secondsLeft, writeRefundArguments } from './shared-keys.ts';

/** Counts with scripts: one atomic command for each chunk. */
export class ScriptedCommands {
  readonly #sharedKeys: SharedKeys;
  readonly #admitting: AdmissionCommands;
  readonly #leasing: LeaseCommands;
  readonly #writer = new CommandWriter();

  constructor(sharedKeys: SharedKeys) {
    this.#sharedKeys = sharedKeys;
    this.#admitting = new AdmissionCommands(sharedKeys);
    this.#leasing = new LeaseCommands(sharedKeys);
  }

  /** @throws RedisReplyError, or Fault `store_failed`, if no slot is known to be counted */
  change(link: RedisLink, batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    if (batch.admissions.count > 0) return this.#admitting.change(link, batch, slots, changes);
    if (batch.refundCount > 0) return this.#changeWithRefunds(link, batch, slots, changes);
    const { amounts } = changes;
    return runScript(link, {
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
    return runScript(link, {
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
    if (batch.leases.count > 0) return this.#leasing.holdBack(link, batch, groups);
    if (batch.admissions.count > 0) return this.#admitting.holdBack(link, batch, groups);
    const ops = opsOf(batch, groups);
    return runScript(link, {
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
    const ops = opsOf(batch, groups);
    const { slots, places } = slotsOf(batch, ops);
    writer.command(3 + 3 * slots.length + 2 * (groups.end - groups.first) + 3 * ops.count);
    writer.encoded(script);
    writer.number(slots.length);
    for (const slot of slots) writer.key(batch, slot);
    for (const slot of slots) {
      writer.number(batch.ttls[slot]);
      writer.number(leastSecondsToLive(batch, slot, this.#sharedKeys));
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
        else if (batch.opLimits[op] === NEVER_FULL) writer.encoded(IS_NEVER_FULL);
        else writer.number(batch.opLimits[op]);
      }
    }
    return writer.take();
  }
}

const IS_REFUND = encodedWords('-');
/** Infinity, for scripts. */
const IS_NEVER_FULL = encodedWords('1e999');
