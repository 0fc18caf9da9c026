import { RedisReplyError } from '../../../clients/redis/errors.ts';
import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { ADMIT, ADMIT_SCRIPT } from '../protocol/admission-scripts.ts';
import { CommandWriter, encodedWords } from '../protocol/command-writer.ts';
import { LEASE_SCRIPT } from '../protocol/lease-script.ts';
import { NumberPacker } from '../protocol/number-packer.ts';
import { REFUND, REFUND_SCRIPT, REFUNDS_CHANNEL, readScriptReply } from '../protocol/scripts.ts';
import { isAdmitted, numbersOf, packedRuns, takeLevel } from './admission-commands.ts';
import { presentLevel } from './admission-states.ts';
import type { Slots } from './counters.ts';
import type { LeaseCalls } from './lease-calls.ts';
import {
  LeaseCommands,
  numbersOfCall,
  type SlotCall,
  slotCalls,
  takeCall,
  writeKeys,
} from './lease-commands.ts';
import { type SharedKeys, writeRefundArguments } from './shared-keys.ts';

/**
 * What is done with a key: `read` its count or level; `add` to it and set its time to live; `expire`: only set the time
 * to live, after a successful addition; `take`: subtract; `refund`: subtract and add, with a script for this key;
 * `admit`: apply the requests to a sliding window or token bucket, with a script for this key; `loadAndAdmit`: the same,
 * after loading the script; `lease` and `loadAndLease`: the same for the calls of a limit with leases; `remove`: delete
 * it, and publish it as a key that was refunded; `removeQuietly`: only delete it.
 */
export type Step =
  | 'read'
  | 'remove'
  | 'removeQuietly'
  | 'add'
  | 'expire'
  | 'take'
  | 'refund'
  | 'admit'
  | 'loadAndAdmit'
  | 'lease'
  | 'loadAndLease';

/** Runs the step for many slots. */
export interface Steps {
  readonly step: Step;
  readonly slots: Slots;
  /** The amounts to add (`add`), the refunds to subtract (`take`), or both. */
  readonly changes: SlotChanges;
  /** Of limits with leases: null for other steps. */
  readonly calls: LeaseCalls | null;
  /** True for a cluster node that is importing these keys: ASKING is sent before each command. */
  readonly asking: boolean;
}

/**
 * Called with the result of the step for each slot: the count or level before it (NaN for `expire`), or an error reply.
 */
type OnReply = (slot: number, reply: number | RedisReplyError, step: Step) => void;

const ASKING = encodedWords('ASKING');
const GET = encodedWords('GET');
const INCRBY = encodedWords('INCRBY');
const EXPIRE = encodedWords('EXPIRE');
const DECRBY = encodedWords('DECRBY');
const DEL = encodedWords('DEL');
const PUBLISH_REFUND = encodedWords('PUBLISH', REFUNDS_CHANNEL);

/**
 * Counts with single commands: in clusters, behind proxies that distribute keys over servers, and for users without the
 * permission to run scripts. Each key is counted exactly, but changes of several keys are not atomic.
 */
export class SingleCommands {
  readonly #writer = new CommandWriter();
  readonly #packer = new NumberPacker();
  readonly #sharedKeys: SharedKeys;
  readonly #leasing: LeaseCommands;

  constructor(sharedKeys: SharedKeys) {
    this.#sharedKeys = sharedKeys;
    this.#leasing = new LeaseCommands(sharedKeys);
  }

  /** @throws Fault `store_failed` if the replies do not come */
  async run(link: RedisLink, batch: CounterBatch, steps: Steps, onReply: OnReply): Promise<void> {
    const { step, slots, changes, asking } = steps;
    const perCommand = asking ? 2 : 1;
    const perSlot = step === 'add' || step === 'remove' ? 2 * perCommand : perCommand;
    const loaded = step === 'refund' || step === 'loadAndAdmit' || step === 'loadAndLease' ? 1 : 0;
    const leases = steps.calls === null ? NO_CALLS : slotCalls(batch, slots, steps.calls);
    const answers = await link.exchange(this.#encode(batch, steps, leases), loaded + slots.length * perSlot);
    const replies = loaded === 0 ? answers : answers.slice(loaded);
    for (let i = 0; i < slots.length; i++) {
      const first = replies[i * perSlot + perCommand - 1];
      const slot = slots[i];
      if (step === 'add') {
        const before = countBefore(first, changes.amounts[slot]);
        addReply(slot, before, replies[(i + 1) * perSlot - 1], onReply);
      } else if (step === 'take') onReply(slot, countBefore(first, -changes.refunds[slot]), step);
      else if (step === 'remove' || step === 'removeQuietly') onReply(slot, countBefore(first, 0), step);
      else if (step === 'read') onReply(slot, presentCount(batch, slot, first), step);
      else if (step === 'admit' || step === 'loadAndAdmit')
        onReply(slot, admitReply(batch, slot, first), step);
      else if (step === 'lease' || step === 'loadAndLease')
        onReply(slot, leaseReply(batch, leases.get(slot)!, first), step);
      else if (step === 'refund') onReply(slot, refundReply(first), step);
      else onReply(slot, errorOrNothing(first), step);
    }
  }

  #encode(
    batch: CounterBatch,
    { step, slots, changes, asking }: Steps,
    leases: ReadonlyMap<number, SlotCall>,
  ): Buffer {
    const writer = this.#writer;
    const shared = this.#sharedKeys;
    const ask = () => {
      if (!asking) return;
      writer.command(1);
      writer.encoded(ASKING);
    };
    const begin = (words: number, name: Uint8Array, slot: number) => {
      ask();
      writer.command(words);
      writer.encoded(name);
      writer.key(batch, slot);
    };
    if (step === 'refund') {
      writer.command(3);
      writer.encoded(LOAD_REFUND);
    }
    if (step === 'loadAndAdmit') {
      writer.command(3);
      writer.encoded(LOAD_ADMIT);
    }
    if (step === 'loadAndLease') {
      writer.command(3);
      writer.encoded(LOAD_LEASE);
    }
    for (const slot of slots) {
      if (step === 'read') begin(2, GET, slot);
      else if (step === 'lease' || step === 'loadAndLease') {
        ask();
        this.#leasing.writeSlot(writer, batch, leases.get(slot)!);
      } else if (step === 'remove' || step === 'removeQuietly') {
        if (batch.admissions.isLeased(slot)) {
          ask();
          writer.command(3);
          writer.encoded(DEL);
          writeKeys(writer, batch, slot);
        } else begin(2, DEL, slot);
        if (step === 'removeQuietly') continue;
        // Whether the user may publish is not checked: the key is removed anyway.
        begin(3, PUBLISH_REFUND, slot);
      } else if (step === 'admit' || step === 'loadAndAdmit') {
        begin(5, EVALSHA_ADMIT, slot);
        writer.word(packedRuns(this.#packer, batch, Int32Array.of(slot)));
      } else if (step === 'refund') {
        begin(9, EVALSHA_REFUND, slot);
        writeRefundArguments(writer, batch, slot, { changes, shared });
      } else if (step === 'take') {
        begin(3, DECRBY, slot);
        writer.number(changes.refunds[slot]);
      } else {
        if (step === 'add') {
          begin(3, INCRBY, slot);
          writer.number(changes.amounts[slot]);
        }
        begin(3, EXPIRE, slot);
        writer.number(batch.ttls[slot]);
      }
    }
    return writer.take();
  }
}

/** A key without a time to live would be kept forever, so if setting it fails, the key counts as failed. */
function addReply(slot: number, before: number | RedisReplyError, expiry: unknown, onReply: OnReply): void {
  onReply(slot, before, 'add');
  if (typeof before === 'number' && expiry instanceof RedisReplyError) onReply(slot, expiry, 'expire');
}

/** Exact up to 2^53 - 49: ioredis adds the code of a digit before it subtracts that of zero. */
function countBefore(reply: unknown, added: number): number | RedisReplyError {
  if (typeof reply === 'number') return reply - added;
  return reply instanceof RedisReplyError ? reply : NO_NUMBER;
}

function refundReply(reply: unknown): number | RedisReplyError {
  if (reply instanceof RedisReplyError) return reply;
  const { numbers, failure } = readScriptReply(reply, 1) ?? { numbers: [Number.NaN], failure: '' };
  if (!Number.isNaN(numbers[0])) return numbers[0];
  return failure === '' ? NO_NUMBER : new RedisReplyError(failure);
}

function admitReply(batch: CounterBatch, slot: number, reply: unknown): number | RedisReplyError {
  if (reply instanceof RedisReplyError) return reply;
  const read = readScriptReply(reply, numbersOf(batch, Int32Array.of(slot)));
  if (read === null) return NO_NUMBER;
  takeLevel(batch, slot, read.numbers, 0);
  return Number.isNaN(read.numbers[0]) ? new RedisReplyError(read.failure) : read.numbers[0];
}

function leaseReply(batch: CounterBatch, call: SlotCall, reply: unknown): number | RedisReplyError {
  if (reply instanceof RedisReplyError) return reply;
  const read = readScriptReply(reply, numbersOfCall(call));
  if (read === null) return NO_NUMBER;
  const level = takeCall(batch, call, read.numbers);
  return Number.isNaN(level) ? new RedisReplyError(read.failure) : level;
}

function presentCount(batch: CounterBatch, slot: number, reply: unknown): number | RedisReplyError {
  if (reply instanceof RedisReplyError) return reply;
  if (isAdmitted(batch, slot)) return presentLevel(batch, slot, reply);
  if (reply === null) return 0;
  const text = Buffer.isBuffer(reply) ? reply.toString('latin1') : '';
  return /^-?[0-9]+$/.test(text) ? Number(text) : NO_NUMBER;
}

function errorOrNothing(reply: unknown): number | RedisReplyError {
  return reply instanceof RedisReplyError ? reply : Number.NaN;
}

/** Sent before each use, because a cluster node may be new or may have lost the script. */
const LOAD_REFUND = encodedWords('SCRIPT', 'LOAD', REFUND_SCRIPT);
const LOAD_ADMIT = encodedWords('SCRIPT', 'LOAD', ADMIT_SCRIPT);
const LOAD_LEASE = encodedWords('SCRIPT', 'LOAD', LEASE_SCRIPT);
const EVALSHA_ADMIT = Buffer.concat([ADMIT.byDigest, encodedWords('1')]);
const EVALSHA_REFUND = Buffer.concat([REFUND.byDigest, encodedWords('1')]);

const NO_CALLS: ReadonlyMap<number, SlotCall> = new Map();
const NO_NUMBER = new RedisReplyError('ERR value is not an integer or out of range');
